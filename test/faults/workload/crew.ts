import { closeSync, fstatSync, openSync, readFileSync, readSync } from 'node:fs';
import { join } from 'node:path';

import { pause } from '../../../lab/patience.js';
import type { RunLine, SetName, WorkerLine } from '../history.js';
import { Worker } from './hired-worker.js';
import type { Journal } from './journal.js';
import type { Report, WorkerTask } from './messages.js';

export const WORKER: URL = new URL('worker.ts', import.meta.url);

/** About forty lines. */
const TAIL_BYTES = 8_192;

/** A worker that has read a set and not yet written it back. */
export interface Adding {
  readonly worker: Worker;
  readonly lock: string;
  readonly set: SetName;
}

/** The part of the task that all workers of a run share. */
export interface CrewTask extends Pick<
  WorkerTask,
  'uri' | 'database' | 'thinkMs' | 'idleMs' | 'onlyLock' | 'hasCandidate'
> {
  readonly program: string;
  /** The folder of the journals. */
  readonly folder: string;
}

/** All workers of a run, and the sets that they keep in its memory. */
export class Crew {
  readonly journal: Journal<RunLine>;
  readonly #task: CrewTask;
  readonly #workers: Worker[] = [];
  readonly #memory = new Map<string, readonly string[]>();

  constructor(task: CrewTask, journal: Journal<RunLine>) {
    this.#task = task;
    this.journal = journal;
  }

  /** The workers that have not ended. */
  get workers(): readonly Worker[] {
    return this.#workers.filter(({ hasEnded }) => !hasEnded);
  }

  /** The values of the sets in memory, by lock. */
  get memory(): ReadonlyMap<string, readonly string[]> {
    return this.#memory;
  }

  async hire(
    task: Pick<WorkerTask, 'seed' | 'actors' | 'bursts' | 'isSteady' | 'options'>,
    env: NodeJS.ProcessEnv = {},
  ): Promise<Worker> {
    const { program, folder, ...common } = this.#task;
    const number = this.#workers.length;
    const driver = `worker-${number}`;
    const whole = { ...common, ...task, driver, journalPath: this.#pathOf(folder, number) };
    const worker = new Worker(number, program, whole, this, env);
    this.#workers.push(worker);
    await worker.ready();
    return worker;
  }

  answer({ question, lock, replaceBy }: Extract<Report, { says: 'ask' }>): {
    question: number;
    values: readonly string[];
  } {
    if (replaceBy !== undefined) this.#memory.set(lock, replaceBy);
    return { question, values: this.#memory.get(lock) ?? [] };
  }

  /** The journal of each worker. The last line of a killed worker may be incomplete. */
  lines(): readonly (readonly WorkerLine[])[] {
    return this.#workers.map(({ number }) => {
      const text = readFileSync(this.#pathOf(this.#task.folder, number), 'utf8');
      const whole = text.slice(0, text.lastIndexOf('\n') + 1);
      return whole.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as WorkerLine]));
    });
  }

  /** Finds a worker that has begun to add to a set and has not finished; `undefined` if there is none in time. */
  async untilAdding(boundMs: number): Promise<Adding | undefined> {
    for (const endMs = performance.now() + boundMs; performance.now() < endMs;) {
      await pause(2);
      for (const worker of this.workers) {
        const last = this.lastLines(worker).findLast(({ type }) => type === 'adding' || type === 'added');
        if (last?.type === 'adding') return { worker, lock: last.lock, set: last.set };
      }
    }
    return undefined;
  }

  /** Waits until another worker has added a value to this set, or the time is over. */
  async untilAdded(except: Worker, lock: string, set: SetName, boundMs: number): Promise<void> {
    const fromNs = process.hrtime.bigint();
    for (const endMs = performance.now() + boundMs; performance.now() < endMs;) {
      await pause(20);
      const isAdded = this.workers.some(
        (worker) =>
          worker !== except &&
          this.lastLines(worker).some(
            (line) =>
              line.type === 'added' && line.lock === lock && line.set === set && BigInt(line.atNs) > fromNs,
          ),
      );
      if (isAdded) return;
    }
  }

  /** The last lines in the journal of a worker. */
  lastLines({ number }: Worker): readonly WorkerLine[] {
    const file = openSync(this.#pathOf(this.#task.folder, number), 'r');
    try {
      const { size } = fstatSync(file);
      const tail = Buffer.alloc(Math.min(size, TAIL_BYTES));
      readSync(file, tail, 0, tail.length, size - tail.length);
      const [first = '', ...lines] = tail.toString().split('\n');
      const whole = size > TAIL_BYTES ? lines : [first, ...lines];
      // The text after the last line break is an incomplete line.
      return whole.slice(0, -1).map((line) => JSON.parse(line) as WorkerLine);
    } finally {
      closeSync(file);
    }
  }

  async dismiss(): Promise<void> {
    await Promise.all(this.#workers.map((worker) => worker.kill()));
  }

  #pathOf(folder: string, number: number): string {
    return join(folder, `worker-${number}.jsonl`);
  }
}
