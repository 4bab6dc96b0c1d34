import type { RunLine, WorkerLine } from '../../faults/history.js';
import type { Journal, Without } from '../../faults/workload/journal.js';

/** A journal in memory, with the times of the simulation. */
export class MemoryJournal<Line extends WorkerLine | RunLine> implements Journal<Line> {
  readonly lines: Line[] = [];
  readonly #nowNs: () => string;

  constructor(nowNs: () => string) {
    this.#nowNs = nowNs;
  }

  write(line: Without<Line, 'atNs'>, atNs: string = this.#nowNs()): void {
    this.lines.push({ ...line, atNs } as unknown as Line);
  }
}
