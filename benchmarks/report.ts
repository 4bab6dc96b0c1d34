import type { Cell, Findings, Gate, Table } from './findings.js';
import type { Plot } from './plot.js';
import { describeRatio, distributionOf, ratioOf } from '../lab/statistics.js';
import type { Block } from '../lab/statistics.js';

/** How the parts of a ratio are called. */
interface RatioNames {
  readonly lock: string;
  readonly floor: string;
  readonly note: string;
  readonly gate: string;
}

/** Collects what a scenario finds. */
export class Report {
  /** A description of the measured server. */
  server = '';
  readonly #timings: (readonly Cell[])[] = [];
  readonly #tables: Table[] = [];
  readonly #plots: Plot[] = [];
  readonly #notes: Record<string, Cell> = {};
  readonly #gates: Gate[] = [];

  /** Adds a row to the table of times that every scenario may have. */
  timing(name: string, valuesMs: readonly number[]): void {
    const { count, p10, p50, p90, p99, max } = distributionOf(valuesMs);
    this.#timings.push([name, count, p10, p50, p90, p99, max]);
  }

  /** Adds the times of a lock and of its floor, and judges their ratio. */
  ratio(names: RatioNames, blocks: readonly Block[], bound: number): void {
    this.timing(
      names.floor,
      blocks.flatMap(({ floorMs }) => floorMs),
    );
    this.timing(
      names.lock,
      blocks.flatMap(({ lockMs }) => lockMs),
    );
    const ratio = ratioOf(blocks);
    this.note(names.note, describeRatio(ratio));
    this.atMost(names.gate, ratio.ofMedians, bound, ratio.isSteady);
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

  atMost(name: string, measured: number, bound: number, isSteady = true): void {
    this.gate({ name, measured, must: '≤', bound, isSteady });
  }

  atLeast(name: string, measured: number, bound: number): void {
    this.gate({ name, measured, must: '≥', bound });
  }

  exactly(name: string, measured: number, bound: number): void {
    this.gate({ name, measured, must: '=', bound });
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
