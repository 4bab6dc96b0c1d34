// Records `npm run demo` in a pseudo-terminal and draws docs/demo.svg from it: `npm run demo:record`. The picture plays the
// recording in real time and begins again. It shows the last screen where nothing moves. Needs python3, for the terminal.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import headless from '@xterm/headless';
import type { IBufferCell, Terminal } from '@xterm/headless';

const COLUMNS = 100;
const ROWS = 60;
/** How long the last screen stays. */
const LAST_MS = 6_000;

const PSEUDO_TERMINAL = 'import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))';
const SHELL = `stty rows ${ROWS} cols ${COLUMNS} && exec npm run --silent demo`;

const FONT = { size: 14, width: 8.4, height: 20 };
const MARGIN = { left: 18, top: 46, bottom: 18 };
const BACKGROUND = '#161b22';
const TEXT = '#c9d1d9';
const COLOURS: Readonly<Record<number, string>> = {
  1: '#ff7b72',
  2: '#56d364',
  3: '#e3b341',
  5: '#d2a8ff',
  6: '#56d4dd',
};

/** What one row of the screen shows from one time to another. */
interface Shown {
  readonly row: number;
  readonly markup: string;
  readonly fromMs: number;
  toMs: number;
}

const { shown, endMs } = await record();
const file = fileURLToPath(new URL('../docs/demo.svg', import.meta.url));
writeFileSync(file, draw(shown, endMs));
console.log(`leasehold: docs/demo.svg, ${shown.length} lines in ${(endMs / 1000).toFixed(1)} s`);

async function record(): Promise<{ readonly shown: readonly Shown[]; readonly endMs: number }> {
  const terminal = new headless.Terminal({ cols: COLUMNS, rows: ROWS, allowProposedApi: true });
  const child = spawn('python3', ['-c', PSEUDO_TERMINAL, 'sh', '-c', SHELL], {
    cwd: fileURLToPath(new URL('../', import.meta.url)),
    env: { ...process.env, TERM: 'xterm-256color', CI: undefined, NO_COLOR: undefined },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const closed = once(child, 'close');
  const startedMs = performance.now();
  const all: Shown[] = [];
  const write = async (text: string | Uint8Array): Promise<void> => {
    const nowMs = performance.now() - startedMs;
    await new Promise<void>((resolve) => {
      terminal.write(text, resolve);
    });
    look(terminal, all, nowMs);
  };
  await write('$ npm run demo\r\n');
  for await (const chunk of child.stdout) await write(chunk as Buffer);
  const [code] = (await closed) as [number | null];
  if (code !== 0) throw new Error(`the demo ended with ${String(code)}: nothing is drawn`);
  return { shown: all, endMs: performance.now() - startedMs };
}

/** Adds the rows that differ from what they showed before. */
function look(terminal: Terminal, all: Shown[], nowMs: number): void {
  for (let row = 0; row < ROWS; row += 1) {
    const markup = markupOf(terminal, row);
    const before = all.findLast((each) => each.row === row);
    if (markup === (before?.markup ?? '')) continue;
    if (before !== undefined) before.toMs = nowMs;
    all.push({ row, markup, fromMs: nowMs, toMs: Infinity });
  }
}

/** The runs of one style in a row, each with its place and width, so that the font of the viewer does not matter. */
function markupOf(terminal: Terminal, row: number): string {
  const line = terminal.buffer.active.getLine(row);
  const runs: { style: string; text: string; column: number }[] = [];
  for (let column = 0; column < COLUMNS; column += 1) {
    const cell = line?.getCell(column);
    if (cell === undefined) break;
    const [style, text] = [styleOf(cell), cell.getChars() || ' '];
    const last = runs.at(-1);
    if (last?.style === style) last.text += text;
    else runs.push({ style, text, column });
  }
  const spans = runs.map(({ style, text, column }) => {
    const indent = text.length - text.trimStart().length;
    const visible = text.trim();
    if (visible === '') return '';
    const x = round(MARGIN.left + (column + indent) * FONT.width);
    const length = round(visible.length * FONT.width);
    return `<tspan x="${x}" textLength="${length}"${style}>${escape(visible)}</tspan>`;
  });
  return spans.join('');
}

function styleOf(cell: IBufferCell): string {
  const colour = cell.isFgPalette() ? COLOURS[cell.getFgColor()] : undefined;
  const attributes = [
    colour === undefined ? '' : ` fill="${colour}"`,
    cell.isBold() === 0 ? '' : ' font-weight="bold"',
    cell.isDim() === 0 ? '' : ' fill-opacity=".6"',
  ];
  return attributes.join('');
}

function draw(all: readonly Shown[], endMs: number): string {
  const totalMs = endMs + LAST_MS;
  const lastRow = Math.max(...all.filter(({ markup }) => markup !== '').map(({ row }) => row));
  const width = Math.ceil(2 * MARGIN.left + COLUMNS * FONT.width);
  const height = MARGIN.top + (lastRow + 1) * FONT.height + MARGIN.bottom;
  const percent = (ms: number): string => `${round((100 * ms) / totalMs)}%`;
  const lines = all.filter(({ markup }) => markup !== '');
  const rules = lines.map(({ fromMs, toMs }, index) => {
    const gone = toMs === Infinity ? '' : `${percent(toMs)},to{opacity:0}`;
    const until = toMs === Infinity ? ',to' : '';
    return `@keyframes k${index}{0%{opacity:0}${percent(fromMs)}${until}{opacity:1}${gone}}#l${index}{animation-name:k${index}}`;
  });
  const texts = lines.map(({ row, markup, toMs }, index) => {
    const y = MARGIN.top + row * FONT.height + FONT.size;
    // Without animation only the last screen is seen.
    const past = toMs === Infinity ? '' : ' opacity="0"';
    return `<text id="l${index}" y="${y}"${past}>${markup}</text>`;
  });
  const dots = ['#ff5f56', '#ffbd2e', '#27c93f'].map(
    (fill, index) => `<circle cx="${24 + 20 * index}" cy="22" r="6" fill="${fill}"/>`,
  );
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img">`,
    '<title>npm run demo: four processes share a lock, its holder is killed, another process takes over</title>',
    `<style>text{font:${FONT.size}px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:${TEXT};white-space:pre}`,
    '@media (prefers-reduced-motion:no-preference){',
    `text{animation:${round(totalMs / 1000)}s step-end infinite}`,
    ...rules,
    '}</style>',
    `<rect width="${width}" height="${height}" rx="8" fill="${BACKGROUND}"/>`,
    ...dots,
    ...texts,
    '</svg>',
    '',
  ].join('\n');
}

function escape(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

function round(value: number): string {
  return String(Math.round(value * 100) / 100);
}
