import { fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';

/**
 * Milliseconds of the monotonic clock that all processes of a machine share, so that what two of them saw can be put
 * in order. (`performance.now()` counts from the start of each process.)
 */
export const monotonicMs = (): number => Number(process.hrtime.bigint()) / 1e6;

export const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** How a process ended; `atMs` is when its parent saw it. */
export interface Ending {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly atMs: number;
}

/** A process of our own that exchanges messages with this one. It ends with its parent, however that ends. */
export class WorkerProcess<Order extends object, Report extends object> {
  readonly ended: Promise<Ending>;
  readonly #child: ChildProcess;
  #hear: (report: Report) => void = () => undefined;

  constructor(file: URL, args: readonly string[] = [], nodeArgs: readonly string[] = ['--import', 'tsx']) {
    this.#child = fork(file, args, { execArgv: [...nodeArgs] });
    this.#child.on('message', (report) => {
      this.#hear(report as Report);
    });
    // Its last messages may arrive after its end; the end of the channel comes after them all.
    const disconnected = new Promise((resolve) => this.#child.once('disconnect', resolve));
    this.ended = new Promise((resolve, reject) => {
      this.#child.on('error', reject);
      this.#child.on('exit', (code, signal) => {
        const ending: Ending = { code, signal, atMs: monotonicMs() };
        void disconnected.then(() => {
          resolve(ending);
        });
      });
    });
    // Whoever waits for the end hears of it; nobody else needs to.
    this.ended.catch(() => undefined);
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  onReport(hear: (report: Report) => void): void {
    this.#hear = hear;
  }

  order(order: Order): void {
    // A process that has ended needs no orders: that it has is told by `ended`.
    if (this.#child.connected) this.#child.send(order, () => undefined);
  }

  kill(): void {
    this.#child.kill('SIGKILL');
  }
}

/** The other end of a {@link WorkerProcess}, in the process itself. */
export class ParentProcess<Order extends object, Report extends object> {
  readonly #orphaned = (): never => process.exit(1);

  constructor(obey: (order: Order) => void) {
    process.on('message', (order) => {
      obey(order as Order);
    });
    process.on('disconnect', this.#orphaned);
    if (!process.connected) this.#orphaned();
  }

  report(report: Report): void {
    process.send?.(report);
  }

  /** Nothing more to say: this process ends when nothing else keeps it. */
  leave(): void {
    process.off('disconnect', this.#orphaned);
    process.disconnect();
  }
}
