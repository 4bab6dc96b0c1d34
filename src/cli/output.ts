import { styleText } from 'node:util';

import { secretsIn, withoutSecrets } from './secrets.js';
import { shownJson, shownText } from './shown-text.js';

type Style = 'bold' | 'dim' | 'red' | 'yellow' | 'green';

/** One cell of a table: a text, which may contain any characters, and how it is shown. */
export interface Cell {
  readonly text: string;
  readonly style?: Style | undefined;
}

export interface OutputOptions {
  readonly json?: boolean | undefined;
  readonly color?: boolean | undefined;
  readonly uri?: string | undefined;
}

/**
 * Prints what a command has to say: data to stdout, messages to stderr. Every text is escaped here, so a command may
 * pass names and labels as they are stored. In messages, the secrets of the connection string are hidden.
 */
export class Output {
  readonly isJson: boolean;
  readonly #isColoured: boolean;
  readonly #secrets: readonly string[];

  constructor({ json = false, color = true, uri = '' }: OutputOptions) {
    this.isJson = json;
    // `hasColors` reads NO_COLOR, TERM and CI. Only a stream to a terminal has this method.
    this.#isColoured = color && process.stdout.isTTY && process.stdout.hasColors();
    this.#secrets = secretsIn(uri);
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
    const shown = cells.map(({ text, style }) => this.#styled(shownText(text), style));
    process.stdout.write(`${shown.join(' ')}\n`);
  }

  table(head: readonly string[], rows: readonly (readonly Cell[])[]): void {
    for (const line of this.tableLines(head, rows)) process.stdout.write(`${line}\n`);
  }

  /**
   * Returns the lines of a table, escaped and styled.
   *
   * @param width - The most characters of a line; the rest is cut off. Default: no line is cut.
   */
  tableLines(head: readonly string[], rows: readonly (readonly Cell[])[], width?: number): readonly string[] {
    const all = [head.map((text): Cell => ({ text, style: 'bold' })), ...rows].map((cells) =>
      cells.map(({ text, style }) => ({ text: shownText(text), style })),
    );
    const widths = head.map((_, at) => Math.max(...all.map((cells) => lengthOf(cells[at]?.text ?? ''))));
    return all.map((cells) => this.#tableLine(cells, widths, width ?? Infinity));
  }

  #tableLine(cells: readonly Cell[], widths: readonly number[], width: number): string {
    let left = width;
    const parts = cells.map(({ text, style }, at) => {
      const isLast = at === cells.length - 1;
      const padded = isLast ? text : text + ' '.repeat((widths[at] ?? 0) - lengthOf(text) + 2);
      const shown = Array.from(padded).slice(0, Math.max(0, left)).join('');
      left -= lengthOf(shown);
      return this.#styled(shown, style);
    });
    return parts.join('');
  }

  /**
   * Prints a message for people to stderr, one line for each text. A line break within a text is escaped, because
   * labels of other processes may have line breaks.
   */
  say(...texts: readonly string[]): void {
    const lines = texts.map((text) => shownText(withoutSecrets(text, this.#secrets)));
    process.stderr.write(`leasehold: ${lines.join('\n')}\n`);
  }

  #styled(text: string, style: Style | undefined): string {
    return style === undefined || !this.#isColoured ? text : styleText(style, text);
  }
}

const lengthOf = (text: string): number => Array.from(text).length;
