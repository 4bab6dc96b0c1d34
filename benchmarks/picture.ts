// A line chart as an SVG file, for figures that are too far apart for an axis that begins at 0.
import type { Chart } from './findings.js';

const WIDTH = 760;
const HEIGHT = 400;
const LEFT = 70;
const RIGHT = 170;
const TOP = 40;
const BOTTOM = 50;

/** Readable on a white and on a black page. */
const COLOURS = ['#d97706', '#2563eb', '#7c3aed', '#dc2626', '#059669', '#6b7280'] as const;

/** The least distance of two labels at the ends of lines, in pixels. */
const LABEL_HEIGHT = 16;

/** The chart with a logarithmic vertical axis. Its steps are at equal distances. */
export function pictureOf({ title, x, y, lines }: Chart): string {
  const values = lines.flatMap((line) => line.values);
  const lowest = Math.floor(Math.log10(Math.min(...values)));
  const highest = Math.ceil(Math.log10(Math.max(...values)));
  const across = (step: number): number =>
    LEFT + (step * (WIDTH - LEFT - RIGHT)) / Math.max(x.values.length - 1, 1);
  const down = (value: number): number =>
    HEIGHT - BOTTOM - ((Math.log10(value) - lowest) * (HEIGHT - TOP - BOTTOM)) / (highest - lowest);
  const decades = Array.from({ length: highest - lowest + 1 }, (_, index) => 10 ** (lowest + index));
  const ends = spread(lines.map((line) => down(line.values.at(-1) ?? NaN)));
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" font-family="sans-serif">`,
    `<title>${title}</title>`,
    // The page decides which scheme is shown, so the text needs a colour for each.
    '<style>text{fill:#1f2937;font-size:13px}.grid{stroke:#9ca3af;stroke-opacity:.5}',
    '@media(prefers-color-scheme:dark){text{fill:#e5e7eb}}</style>',
    text(LEFT, 20, title),
    ...decades.flatMap((decade) => [
      `<path class="grid" d="M${LEFT} ${down(decade)}H${WIDTH - RIGHT}"/>`,
      text(LEFT - 8, down(decade) + 4, decade.toLocaleString('en'), 'end'),
    ]),
    ...x.values.map((value, step) => text(across(step), HEIGHT - BOTTOM + 20, String(value), 'middle')),
    text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 10, x.label, 'middle'),
    `<g transform="translate(14 ${(TOP + HEIGHT - BOTTOM) / 2}) rotate(-90)">${text(0, 0, y, 'middle')}</g>`,
    ...lines.flatMap((line, index) => {
      const colour = COLOURS[index % COLOURS.length];
      const points = line.values.map((value, step) => `${across(step).toFixed(1)},${down(value).toFixed(1)}`);
      const width = index === 0 ? 3.5 : 2;
      return [
        `<polyline fill="none" stroke="${colour}" stroke-width="${width}" points="${points.join(' ')}"/>`,
        text(WIDTH - RIGHT + 12, (ends[index] ?? NaN) + 4, line.name),
        `<path stroke="${colour}" stroke-width="4" d="M${WIDTH - RIGHT} ${ends[index] ?? NaN}h8"/>`,
      ];
    }),
    '</svg>',
    '',
  ].join('\n');
}

function text(x: number, y: number, content: string, anchor: 'start' | 'middle' | 'end' = 'start'): string {
  return `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" text-anchor="${anchor}">${content}</text>`;
}

/** The same heights, moved apart so that no two labels overlap. */
function spread(heights: readonly number[]): readonly number[] {
  const order = heights.map((height, index) => ({ height, index })).sort((a, b) => a.height - b.height);
  const moved = [...heights];
  let least = -Infinity;
  for (const { height, index } of order) {
    least = Math.max(height, least);
    moved[index] = least;
    least += LABEL_HEIGHT;
  }
  return moved;
}
