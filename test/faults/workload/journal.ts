import { openSync, writeSync } from 'node:fs';

import { nowNs } from '../history.js';
import type { RunLine, WorkerLine } from '../history.js';

type Without<T, K extends PropertyKey> = T extends unknown ? Omit<T, K> : never;

/** A file of lines. Each is with the operating system before the next step is taken, so a kill loses none. */
export class Journal<Line extends WorkerLine | RunLine> {
  readonly #file: number;

  constructor(path: string) {
    this.#file = openSync(path, 'a');
  }

  /** `atNs`: when it happened, if that is not now. */
  write(line: Without<Line, 'atNs'>, atNs: string = nowNs()): void {
    writeSync(this.#file, `${JSON.stringify({ ...line, atNs })}\n`);
  }
}
