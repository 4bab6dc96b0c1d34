import type { Result } from './command-line.js';

/** One row of `leasehold doctor --json`. */
export interface Row {
  readonly check: string;
  readonly status: 'ok' | 'warn' | 'fail';
  readonly detail: string;
  readonly advice: string;
}

/** The rows by the names of their checks. */
export const rowsOf = ({ stdout }: Result): ReadonlyMap<string, Row> =>
  new Map(
    stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Row)
      .map((row) => [row.check, row]),
  );
