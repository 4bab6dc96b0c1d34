import type { Cell, Chart, Findings, Gate, Plot, Table } from './findings.js';
import { agree, describeRatio, distributionOf, median, ratioOf } from '../lab/statistics.js';
import type { Block } from '../lab/statistics.js';

const TIMES_HEAD = ['count', 'p10', 'p50', 'p90', 'p99', 'max'] as const;

/** A kind of call, and how long each call of a block took, in ms. */
interface Series {
  readonly name: string;
  readonly measure: () => Promise<readonly number[]>;
}

interface Comparison {
  readonly rounds: number;
  readonly floor: Series;
  readonly lock: Series;
  readonly gate: string;
  readonly bound: number;
}

/** Collects what a scenario finds. */
export class Report {
  readonly #timings: (readonly Cell[])[] = [];
  readonly #tables: Table[] = [];
  readonly #plots: Plot[] = [];
  readonly #charts: Chart[] = [];
  readonly #notes: Record<string, Cell> = {};
  readonly #gates: Gate[] = [];

  /** Adds a row to the table of times that every scenario may have. */
  timing(name: string, valuesMs: readonly number[]): void {
    const figures = distributionOf(valuesMs);
    this.#timings.push([name, ...TIMES_HEAD.map((figure) => figures[figure])]);
  }

  /** Measures the floor and the lock in turn, so that a slow minute is slow for both, and judges their ratio. */
  async compare({ rounds, floor, lock, gate, bound }: Comparison): Promise<void> {
    const blocks: Block[] = [];
    for (let round = 0; round < rounds; round += 1) {
      const floorMs = await floor.measure();
      blocks.push({ floorMs, lockMs: await lock.measure() });
    }
    this.timing(floor.name, blocks.map((block) => block.floorMs).flat());
    this.timing(lock.name, blocks.map((block) => block.lockMs).flat());
    this.ratio(gate, blocks, bound);
  }

  /** Judges how many times its floor a lock takes. */
  ratio(gate: string, blocks: readonly Block[], bound: number): void {
    const ratio = ratioOf(blocks);
    this.note(gate, describeRatio(ratio));
    this.gate(gate, ratio.ofMedians, '≤', bound, ratio.isSteady);
  }

  /** Judges the median of ratios, of which each is of one block. */
  blockRatios(gate: string, ratios: readonly number[], must: Gate['must'], bound: number): void {
    this.note(gate, `blocks ${ratios.map((ratio) => ratio.toFixed(2)).join(' ')}`);
    this.gate(gate, median(ratios), must, bound, agree(ratios));
  }

  table(title: string, head: readonly string[], rows: readonly (readonly Cell[])[]): void {
    this.#tables.push({ title, head, rows });
  }

  plot(plot: Plot): void {
    this.#plots.push(plot);
  }

  chart(chart: Chart): void {
    this.#charts.push(chart);
  }

  note(name: string, value: Cell): void {
    this.#notes[name] = value;
  }

  gate(name: string, measured: number, must: Gate['must'], bound: number, isSteady = true): void {
    this.#gates.push({ name, measured, must, bound, isSteady });
  }

  get findings(): Findings {
    const times: Table = { title: 'Times', head: ['ms', ...TIMES_HEAD], rows: this.#timings };
    return {
      tables: [...(times.rows.length === 0 ? [] : [times]), ...this.#tables],
      plots: this.#plots,
      charts: this.#charts,
      notes: this.#notes,
      gates: this.#gates,
    };
  }
}
