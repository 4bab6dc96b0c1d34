import { fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';

import { eventually, within } from '../../../lab/patience.js';
import type { RunLine } from '../history.js';
import type { Journal } from './journal.js';
import type { Order, Report, WorkerTask } from './messages.js';

/** Whom a worker talks to. */
interface Run {
  readonly journal: Journal<RunLine>;
  /** What a set in the memory of the run holds, after it was replaced if that was asked for. */
  answer(question: Extract<Report, { says: 'ask' }>): {
    readonly question: number;
    readonly values: readonly string[];
  };
}

/** A worker as the run sees it. */
export class Worker {
  readonly number: number;
  /** What its driver calls itself. */
  readonly driver: string;
  readonly isSteady: boolean;
  readonly ended: Promise<number | null>;
  readonly #child: ChildProcess;
  readonly #journal: Journal<RunLine>;
  readonly #said = new Set<Report['says']>();
  #complaints = '';
  #hasEnded = false;

  constructor(number: number, program: string, task: WorkerTask, run: Run, env: NodeJS.ProcessEnv) {
    this.number = number;
    this.driver = task.driver;
    this.isSteady = task.isSteady;
    this.#journal = run.journal;
    this.#child = fork(program, [JSON.stringify(task)], {
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
      env: { ...process.env, ...env },
      // The program is JavaScript already.
      execArgv: [],
    });
    this.#child.stderr?.on('data', (chunk: Buffer) => (this.#complaints += chunk.toString()));
    this.#child.on('message', (report: Report) => {
      this.#said.add(report.says);
      if (report.says === 'ask') this.order({ do: 'hear', ...run.answer(report) });
    });
    this.ended = once(this.#child, 'close').then(([code]) => {
      this.#hasEnded = true;
      return code as number | null;
    });
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  order(order: Order): void {
    // Who has just been killed needs no orders.
    if (this.#child.connected) this.#child.send(order, () => undefined);
  }

  async ready(): Promise<void> {
    await this.#heard('ready');
  }

  stop(): void {
    this.#journal.write({ type: 'worker stands', worker: this.number });
    this.#child.kill('SIGSTOP');
  }

  continue(): void {
    this.#child.kill('SIGCONT');
    this.#journal.write({ type: 'worker goes on', worker: this.number });
  }

  /** Keeps its event loop from everything for so long. */
  async block(ms: number): Promise<void> {
    this.#said.delete('unblocked');
    this.#journal.write({ type: 'worker stands', worker: this.number });
    this.order({ do: 'block', ms });
    await this.#heard('unblocked');
    this.#journal.write({ type: 'worker goes on', worker: this.number });
  }

  /** Makes it end in the middle of everything. */
  async end(by: 'SIGKILL' | 'SIGTERM' | 'crash'): Promise<void> {
    if (by === 'crash') this.order({ do: 'crash' });
    else this.#child.kill(by);
    await this.ended;
    this.#journal.write({ type: 'worker killed', worker: this.number });
  }

  /** It has been told to stop, and must end by itself. */
  async endsByItself(boundMs: number): Promise<void> {
    const code = await within(boundMs, `worker ${this.number} ends by itself`, this.ended);
    if (code !== 0) throw new Error(`worker ${this.number} ended with ${String(code)}: ${this.#complaints}`);
  }

  kill(): void {
    this.#child.kill('SIGKILL');
  }

  async #heard(says: Report['says']): Promise<void> {
    await eventually(`worker ${this.number} says ${says}`, () => {
      if (this.#hasEnded) throw new Error(`worker ${this.number} ended early: ${this.#complaints}`);
      return this.#said.has(says);
    });
  }
}
