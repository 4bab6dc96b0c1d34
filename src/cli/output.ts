import { styleText } from 'node:util';

import { beginningOf, columnsOf } from './columns.js';
import { withoutSecretsOfStrings } from './secrets.js';
import { shownJson, shownText } from './shown-text.js';

type Style = 'bold' | 'dim' | 'red' | 'yellow' | 'green';

/** One cell of a table: a text, which may contain any characters, and how it is shown. */
export interface Cell {
  readonly text: string;
  readonly style?: Style | undefined;
  /** `Output.cells` fills a shorter text up to so many characters. A table finds the widths of its columns itself. */
  readonly width?: number;
}

export interface TableLayout {
  /** The most columns of a line; the rest is cut off. Default: no line is cut. */
  readonly width?: number;
  /** The width of each column at most. A longer text is cut and ends with `…`. Default: no text is cut. */
  readonly bounds?: readonly (number | undefined)[];
}

/**
 * How far a column is padded at most if its texts are not cut. Any process chooses its name and its label, and one long
 * text must not move the columns of all other rows.
 */
const PADDED_TO = 40;

export interface OutputOptions {
  readonly json?: boolean | undefined;
  readonly color?: boolean | undefined;
  readonly uri?: string | undefined;
}

/**
 * Prints what a command has to say: data to stdout, messages to stderr. Every text is escaped here, so a command may
 * pass names and labels as they are stored. In messages, the secrets of connection strings are hidden.
 */
export class Output {
  readonly isJson: boolean;
  readonly #isColoured: boolean;
  readonly #uri: string;

  constructor({ json = false, color = true, uri = '' }: OutputOptions) {
    this.isJson = json;
    // `hasColors` reads NO_COLOR, TERM and CI. Only a stream to a terminal has this method.
    this.#isColoured = color && process.stdout.isTTY && process.stdout.hasColors();
    this.#uri = uri;
  }

  /** Prints a line of JSON. */
  row(value: object): void {
    process.stdout.write(`${shownJson(value)}\n`);
  }

  line(text: string): void {
    process.stdout.write(`${shownText(text)}\n`);
  }

  /** Prints cells beside each other, in one line. */
  cells(cells: readonly Cell[]): void {
    const shown = cells.map(({ text, style, width = 0 }) =>
      this.#styled(shownText(text).padEnd(width), style),
    );
    process.stdout.write(`${shown.join(' ')}\n`);
  }

  table(head: readonly string[], rows: readonly (readonly Cell[])[], layout?: TableLayout): void {
    for (const line of this.tableLines(head, rows, layout)) process.stdout.write(`${line}\n`);
  }

  /** Returns the lines of a table, escaped and styled. */
  tableLines(
    head: readonly string[],
    rows: readonly (readonly Cell[])[],
    { width = Infinity, bounds = [] }: TableLayout = {},
  ): readonly string[] {
    const all = [head.map((text): Cell => ({ text, style: 'bold' })), ...rows].map((cells) =>
      cells.map(({ text, style }, at) => ({ text: cut(shownText(text), bounds[at]), style })),
    );
    const widths = head.map((_, at) => bounds[at] ?? PADDED_TO).map((most, at) => widthOf(all, at, most));
    return all.map((cells) => this.#tableLine(cells, widths, width));
  }

  #tableLine(cells: readonly Cell[], widths: readonly number[], width: number): string {
    let left = width;
    const parts = cells.map(({ text, style }, at) => {
      const isLast = at === cells.length - 1;
      const padded = isLast
        ? text
        : `${text}${' '.repeat(Math.max(0, (widths[at] ?? 0) - columnsOf(text)))}  `;
      const shown = beginningOf(padded, Math.max(0, left));
      left -= columnsOf(padded);
      return this.#styled(shown, style);
    });
    return parts.join('');
  }

  /**
   * Prints a message for people to stderr, one line for each text. A line break within a text is escaped, because
   * labels of other processes may have line breaks.
   */
  say(...texts: readonly string[]): void {
    const lines = texts.map((text) => shownMessage(withoutSecretsOfStrings(text, this.#uri)));
    process.stderr.write(`leasehold: ${lines.join('\n')}\n`);
  }

  #styled(text: string, style: Style | undefined): string {
    return style === undefined || !this.#isColoured ? text : styleText(style, text);
  }
}

/** The blanks at the beginning are the message's own: the lines of a stack are indented. */
function shownMessage(text: string): string {
  const start = text.search(/[^ ]|$/);
  return text.slice(0, start) + shownText(text.slice(start));
}

/** The width of the longest text of a column, but at most `most`. */
function widthOf(all: readonly (readonly Cell[])[], column: number, most: number): number {
  let longest = 0;
  // A loop, because a function takes only so many arguments, and there may be more rows.
  for (const cells of all) longest = Math.max(longest, columnsOf(cells[column]?.text ?? ''));
  return Math.min(longest, most);
}

/** Returns the text, or its beginning and `…` if it takes more than `most` columns. */
const cut = (text: string, most = Infinity): string =>
  columnsOf(text) <= most ? text : `${beginningOf(text, Math.max(0, most - 1))}…`;
