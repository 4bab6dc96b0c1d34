import type { Gate } from './gate.js';
import type { Plot } from './plot.js';
import { distributionOf } from './statistics.js';
import type { Cell, Table } from './table.js';

/** What one scenario has found on one replica set. */
export interface Findings {
  readonly server: string;
  readonly tables: readonly Table[];
  readonly plots: readonly Plot[];
  /** What is worth knowing and no row of a table. */
  readonly notes: Readonly<Record<string, Cell>>;
  readonly gates: readonly Gate[];
}

/** Where a scenario says what it has found. */
export class Report {
  /** Which server was measured on, in words for people. */
  server = '';
  readonly #timings: (readonly Cell[])[] = [];
  readonly #tables: Table[] = [];
  readonly #plots: Plot[] = [];
  readonly #notes: Record<string, Cell> = {};
  readonly #gates: Gate[] = [];

  /** A row of the table of times, which every scenario may have. */
  timing(name: string, valuesMs: readonly number[]): void {
    const { count, p10, p50, p90, p99, max } = distributionOf(valuesMs);
    this.#timings.push([name, count, p10, p50, p90, p99, max]);
  }

  table(title: string, head: readonly string[], rows: readonly (readonly Cell[])[]): void {
    this.#tables.push({ title, head, rows });
  }

  plot(plot: Plot): void {
    this.#plots.push(plot);
  }

  note(name: string, value: Cell): void {
    this.#notes[name] = value;
  }

  gate(gate: Gate): void {
    this.#gates.push(gate);
  }

  get findings(): Findings {
    const head = ['ms', 'count', 'p10', 'p50', 'p90', 'p99', 'max'];
    const timings = this.#timings.length === 0 ? [] : [{ title: 'Times', head, rows: this.#timings }];
    return {
      server: this.server,
      tables: [...timings, ...this.#tables],
      plots: this.#plots,
      notes: this.#notes,
      gates: this.#gates,
    };
  }
}
