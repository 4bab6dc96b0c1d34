import type { LeaseInfo, LockProvider, LockProviderOptions, Wakeups } from '../../../src/index.js';
import { OwnDatabase, randomName } from '../../support/test-provider.js';
import { untilWaiting } from '../../support/waiters.js';
import { eventually } from '../../../lab/patience.js';
import { Child } from '../../../lab/processes/child.js';
import type { HeldAs, Line, Order, WorkerTask } from './worker-lines.js';

/** The lease of the workers, which die or stop: short enough that a test can wait until it expires. */
export const LEASE_MS = 8_000;

/** So often that a busy machine does not lose a lease. */
const EXTEND_EVERY_MS = 200;

/** How much longer than a lease a takeover may take. */
export const SLACK_MS = 6_000;

/** How long a grant may take on a busy machine. The bounds that matter are measured on the server's clock. */
export const TAKEOVER_MS = 40_000;

/** What the suites are run with. */
export interface Subject {
  readonly wakeups: Wakeups;
  /** The worker, built. */
  readonly program: { readonly path: string };
}

/** How one lease followed another, on the server's clock, which alone decides. */
export interface Takeover {
  readonly from: LeaseInfo;
  readonly to: LeaseInfo;
  /** The time from the last stored expiry of `from` to the grant of `to`. */
  readonly lateMs: number;
}

/** A worker as its parent sees it. */
export type WorkerProcess = Child<Order, Line>;

/** One lock, providers of this process, and workers in processes of their own. */
export class ProcessWorld implements AsyncDisposable {
  readonly lockName = randomName('lock');
  readonly #database = new OwnDatabase();
  readonly #options: LockProviderOptions;
  readonly #workers: WorkerProcess[] = [];
  readonly #observer: LockProvider;
  readonly #program: { readonly path: string };

  constructor({ program, wakeups }: Subject, options: LockProviderOptions = {}) {
    this.#program = program;
    this.#options = {
      wakeups,
      leaseMs: LEASE_MS,
      extendEveryMs: EXTEND_EVERY_MS,
      createIndexes: false,
      ...options,
    };
    this.#observer = this.provider();
  }

  /** A provider of this process, which neither dies nor stops. Leases are long, so that no look finds a grant early. */
  provider(): LockProvider {
    return this.#database.client().provider({ ...this.#options, leaseMs: 60_000 });
  }

  async worker(heldAs: HeldAs = 'mutex'): Promise<WorkerProcess> {
    const task: WorkerTask = {
      uri: this.#database.uri,
      database: this.#database.name,
      lockName: this.lockName,
      heldAs,
      options: this.#options,
    };
    const worker: WorkerProcess = new Child([this.#program.path, JSON.stringify(task)]);
    this.#workers.push(worker);
    await worker.heard('ready');
    return worker;
  }

  async workers(count: number): Promise<readonly WorkerProcess[]> {
    return await Promise.all(Array.from({ length: count }, () => this.worker()));
  }

  async untilWaiting(count: number): Promise<void> {
    await untilWaiting(this.#observer, this.lockName, count);
  }

  /**
   * Watches until `heir` has the lock, and returns the last lease that ended before. With `asking`, it tries to acquire
   * the lock all the while: a try never passes a waiter, but it makes the server drop every expired lease.
   */
  async watchTakeover(heir: LockProvider, asking: boolean): Promise<Takeover> {
    const seen = new Map<string, LeaseInfo>();
    const to = await eventually('the heir takes over', async () => {
      if (asking) await (await this.#observer.tryAcquireMutex(this.lockName))?.release();
      const holders = (await this.#observer.inspect(this.lockName))?.holders ?? [];
      const heirs = holders.find(({ process }) => process === heir.processId);
      if (heirs === undefined) for (const holder of holders) seen.set(holder.id, holder);
      // A lease that is still beside the lease of the heir has not ended.
      else for (const { id } of holders) seen.delete(id);
      return heirs;
    });
    const from = [...seen.values()].sort((a, b) => a.token - b.token).at(-1);
    if (from === undefined) throw new Error('no earlier holder was seen');
    return { from, lateMs: to.acquiredAt.getTime() - from.expiresAt.getTime(), to };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#workers.map((worker) => worker[Symbol.asyncDispose]()));
    await this.#database[Symbol.asyncDispose]();
    const complaints = this.#workers.map(({ stderr }) => stderr).join('');
    if (complaints !== '') throw new Error(`a worker complained: ${complaints}`);
  }
}
