import { Child } from '../../../lab/processes/child.js';
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
  readonly #child: Child<Order, Report>;
  readonly #journal: Journal<RunLine>;

  constructor(number: number, program: string, task: WorkerTask, run: Run, env: NodeJS.ProcessEnv) {
    this.number = number;
    this.driver = task.driver;
    this.isSteady = task.isSteady;
    this.#journal = run.journal;
    const onLine = (report: Report): void => {
      if (report.says === 'ask') this.order({ do: 'hear', ...run.answer(report) });
    };
    this.#child = new Child([program, JSON.stringify(task)], { env, onLine });
  }

  get hasEnded(): boolean {
    return this.#child.hasEnded;
  }

  order(order: Order): void {
    this.#child.order(order);
  }

  async ready(): Promise<void> {
    await this.#child.heard('ready');
  }

  stop(): void {
    this.#journal.write({ type: 'worker stands', worker: this.number });
    this.#child.signal('SIGSTOP');
  }

  continue(): void {
    this.#child.signal('SIGCONT');
    this.#journal.write({ type: 'worker goes on', worker: this.number });
  }

  /** Keeps its event loop from everything for so long. */
  async block(ms: number): Promise<void> {
    this.#journal.write({ type: 'worker stands', worker: this.number });
    await this.#child.tell({ do: 'block', ms }, 'unblocked');
    this.#journal.write({ type: 'worker goes on', worker: this.number });
  }

  /** Makes it end in the middle of everything. */
  async end(by: 'SIGKILL' | 'SIGTERM' | 'crash'): Promise<void> {
    if (by === 'crash') this.order({ do: 'crash' });
    else this.#child.signal(by);
    await this.#child.ended;
    this.#journal.write({ type: 'worker killed', worker: this.number });
  }

  /** It has been told to stop, and must end by itself. */
  async endsByItself(boundMs: number): Promise<void> {
    await this.#child.endsByItself(0, boundMs);
  }

  async kill(): Promise<void> {
    await this.#child.kill();
  }
}
