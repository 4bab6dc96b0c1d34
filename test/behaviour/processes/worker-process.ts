import { spawn } from 'node:child_process';
import type { ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';

import { BUSY_MACHINE_MS, eventually, within } from '../../../lab/patience.js';
import type { Line, Order, Says, WorkerTask } from './worker-lines.js';

type LineOf<S extends Says> = Extract<Line, { readonly says: S }>;

/** A worker as its parent sees it. Killed when the test ends, if it has not ended by itself. */
export class WorkerProcess implements AsyncDisposable {
  readonly lines: Line[] = [];
  readonly ended: Promise<{ readonly code: number | null; readonly signal: NodeJS.Signals | null }>;
  readonly #child: ChildProcessByStdio<Writable, Readable, Readable>;
  #complaints = '';
  #hasEnded = false;

  private constructor(program: string, task: WorkerTask) {
    this.#child = spawn(process.execPath, [program, JSON.stringify(task)], {
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    createInterface({ input: this.#child.stdout }).on('line', (line) => {
      this.lines.push(JSON.parse(line) as Line);
    });
    this.#child.stderr.on('data', (chunk: Buffer) => (this.#complaints += chunk.toString()));
    // An order to a worker that has just been killed is no failure of the test.
    this.#child.stdin.on('error', () => undefined);
    this.ended = once(this.#child, 'close').then(([code, signal]) => {
      this.#hasEnded = true;
      return { code: code as number | null, signal: signal as NodeJS.Signals | null };
    });
  }

  /** Started, connected, and waiting for orders. */
  static async start(program: string, task: WorkerTask): Promise<WorkerProcess> {
    const worker = new WorkerProcess(program, task);
    await worker.heard('ready');
    return worker;
  }

  order(order: Order): void {
    this.#child.stdin.write(`${JSON.stringify(order)}\n`);
  }

  /** Orders, and waits for the next line of this kind. */
  async tell<S extends Says>(order: Order, answer: S): Promise<LineOf<S>> {
    const before = this.all(answer).length;
    this.order(order);
    return await this.heard(answer, before + 1);
  }

  /** The n-th line of this kind, as soon as there is one. */
  async heard<S extends Says>(says: S, nth = 1): Promise<LineOf<S>> {
    return await eventually(`the worker says "${says}"`, () => {
      if (this.#complaints !== '') throw new Error(`a worker complained: ${this.#complaints}`);
      const line = this.all(says)[nth - 1];
      if (line === undefined && this.#hasEnded) throw new Error(`a worker ended before it said "${says}"`);
      return line;
    });
  }

  all<S extends Says>(says: S): LineOf<S>[] {
    return this.lines.filter((line): line is LineOf<S> => line.says === says);
  }

  signal(signal: 'SIGKILL' | 'SIGSTOP' | 'SIGCONT'): void {
    this.#child.kill(signal);
  }

  /** Kills it and waits until it is gone; what it has written is read by then. */
  async kill(): Promise<void> {
    this.signal('SIGKILL');
    await this.ended;
  }

  /** Makes it exit in the middle of everything. */
  async exit(): Promise<void> {
    this.order({ do: 'exit' });
    await this.ended;
  }

  /** How it ended, which it must do by itself and soon. */
  async endsByItself(): Promise<number | null> {
    const { code } = await within(BUSY_MACHINE_MS, 'the worker ends by itself', this.ended);
    if (this.#complaints !== '') throw new Error(`a worker complained: ${this.#complaints}`);
    return code;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) await this.kill();
  }
}
