import { openSync, writeSync } from 'node:fs';

import { nowNs } from '../history.js';
import type { RunLine, WorkerLine } from '../history.js';

export type Without<T, K extends PropertyKey> = T extends unknown ? Omit<T, K> : never;

/** The lines that a worker or the run writes down. */
export interface Journal<Line extends WorkerLine | RunLine> {
  /** `atNs`: when it happened, if that is not now. */
  write(line: Without<Line, 'atNs'>, atNs?: string): void;
}

/** A file of lines. Each is with the operating system before the next step is taken, so a kill loses none. */
export class FileJournal<Line extends WorkerLine | RunLine> implements Journal<Line> {
  readonly #file: number;

  constructor(path: string) {
    this.#file = openSync(path, 'a');
  }

  write(line: Without<Line, 'atNs'>, atNs: string = nowNs()): void {
    writeSync(this.#file, `${JSON.stringify({ ...line, atNs })}\n`);
  }
}
