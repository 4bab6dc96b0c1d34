/** A picture of figures over steps that are drawn at equal distances: 2, 4, 8 … processes. */
export interface Plot {
  readonly title: string;
  readonly kind: 'lines' | 'bars';
  readonly x: { readonly label: string; readonly values: readonly (number | string)[] };
  /** The name of the axis, with the unit. */
  readonly y: string;
  readonly series: readonly Series[];
}

interface Series {
  readonly name: string;
  /** One for each step; NaN is left out. */
  readonly values: readonly number[];
}

const WIDTH = 640;
const HEIGHT = 352;
const LETTER_WIDTH = 7;
const AREA = { left: 64, right: 624, top: 66, bottom: 282 };

/** Grey and colours that can be read on white and on black, for viewers without a colour scheme. */
const STYLE = `
  text { font: 12px system-ui, sans-serif; fill: #7a828c; }
  .title { font-size: 14px; font-weight: 600; }
  .grid { stroke: #7a828c; stroke-opacity: 0.25; }
  .line { fill: none; stroke-width: 2; }
  @media (prefers-color-scheme: light) { text { fill: #424a53; } }
  @media (prefers-color-scheme: dark) { text { fill: #b1bac4; } }
`;
const COLOURS = ['#2f81f7', '#e16f24', '#2da44e', '#a475f9', '#d4408e', '#9a7500'] as const;

/** The plot as an SVG file. */
export function drawn(plot: Plot): string {
  const top = topOf(plot.series.flatMap(({ values }) => values));
  const parts = [
    text(plot.title, AREA.left, 22, { class: 'title' }),
    ...legend(plot.series),
    ...grid(top),
    ...steps(plot),
    ...(plot.kind === 'lines' ? lines(plot, top) : bars(plot, top)),
    text(plot.x.label, (AREA.left + AREA.right) / 2, HEIGHT - 12, { 'text-anchor': 'middle' }),
    text(plot.y, 16, (AREA.top + AREA.bottom) / 2, {
      'text-anchor': 'middle',
      transform: `rotate(-90 16 ${(AREA.top + AREA.bottom) / 2})`,
    }),
  ];
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img">
<style>${STYLE}</style>
${parts.join('\n')}
</svg>
`;
}

/** The end of the axis and the distance of its lines: at most six lines, at round numbers. */
export function topOf(values: readonly number[]): { readonly end: number; readonly step: number } {
  const highest = Math.max(0, ...values.filter(Number.isFinite));
  if (highest === 0) return { end: 1, step: 1 };
  const power = 10 ** Math.floor(Math.log10(highest / 6));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((width) => highest / width <= 6);
  const width = step ?? highest;
  return { end: Math.ceil(highest / width) * width, step: width };
}

type Axis = ReturnType<typeof topOf>;

const yOf = (value: number, { end }: Axis): number => AREA.bottom - (value / end) * (AREA.bottom - AREA.top);

const widthOf = ({ x }: Plot): number => (AREA.right - AREA.left) / x.values.length;

const middleOf = (plot: Plot, index: number): number => AREA.left + (index + 0.5) * widthOf(plot);

const colourOf = (index: number): string => COLOURS[index % COLOURS.length] ?? COLOURS[0];

function grid(axis: Axis): readonly string[] {
  const count = Math.round(axis.end / axis.step);
  return Array.from({ length: count + 1 }, (_, index) => {
    const value = index * axis.step;
    const y = round(yOf(value, axis));
    const line = element('line', { class: 'grid', x1: AREA.left, x2: AREA.right, y1: y, y2: y });
    const label = Number(value.toPrecision(6)).toLocaleString('en');
    return line + text(label, AREA.left - 8, y + 4, { 'text-anchor': 'end' });
  });
}

/** If names would overlap, every second one is drawn lower. */
function steps(plot: Plot): readonly string[] {
  const names = plot.x.values.map(String);
  const isCrowded = Math.max(...names.map(({ length }) => length)) * LETTER_WIDTH > widthOf(plot);
  return names.map((name, index) => {
    const y = AREA.bottom + (isCrowded && index % 2 === 1 ? 32 : 18);
    return text(name, middleOf(plot, index), y, { 'text-anchor': 'middle' });
  });
}

function lines(plot: Plot, axis: Axis): readonly string[] {
  return plot.series.flatMap(({ values }, which) => {
    const points = values.flatMap((value, index) =>
      Number.isFinite(value) ? [[round(middleOf(plot, index)), round(yOf(value, axis))] as const] : [],
    );
    const stroke = colourOf(which);
    const path = points.map(([x, y]) => `${x},${y}`).join(' ');
    return [
      element('polyline', { class: 'line', points: path, stroke }),
      ...points.map(([x, y]) => element('circle', { cx: x, cy: y, r: 3, fill: stroke })),
    ];
  });
}

function bars(plot: Plot, axis: Axis): readonly string[] {
  const width = (widthOf(plot) * 0.8) / plot.series.length;
  return plot.series.flatMap(({ values }, which) =>
    values.flatMap((value, index) => {
      if (!Number.isFinite(value)) return [];
      const x = middleOf(plot, index) + (which - plot.series.length / 2) * width;
      const y = yOf(value, axis);
      const size = { x: round(x), y: round(y), width: round(width * 0.92), height: round(AREA.bottom - y) };
      return [element('rect', { ...size, fill: colourOf(which) })];
    }),
  );
}

/** Rows of three names. */
function legend(series: readonly Series[]): readonly string[] {
  return series.map(({ name }, index) => {
    const x = AREA.left + (index % 3) * 190;
    const y = 42 + Math.floor(index / 3) * 15;
    const sign = element('rect', { x, y: y - 9, width: 10, height: 10, rx: 2, fill: colourOf(index) });
    return sign + text(name, x + 15, y, {});
  });
}

type Attributes = Readonly<Record<string, string | number>>;

const text = (content: string, x: number, y: number, attributes: Attributes): string =>
  element('text', { x: round(x), y: round(y), ...attributes }, escaped(content));

function element(name: string, attributes: Attributes, content?: string): string {
  const written = Object.entries(attributes).map(([key, value]) => ` ${key}="${escaped(String(value))}"`);
  return `<${name}${written.join('')}${content === undefined ? '/>' : `>${content}</${name}>`}`;
}

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');

const round = (value: number): number => Math.round(value * 10) / 10;
