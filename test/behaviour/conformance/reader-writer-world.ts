import { expect } from 'vitest';

import type {
  LockProvider,
  LockProviderOptions,
  ReaderWriterHandle,
  ReaderWriterLock,
} from '../../../src/index.js';
import { eventually } from '../../../lab/patience.js';
import { KEEP_MS } from './adapters.js';
import { untilKeeping } from './keeping.js';
import { TwoProviders } from './two-providers.js';
import type { OwnSubject, Started, Waits } from './two-providers.js';

const WAYS = ['Read', 'UpgradeableRead', 'Write'] as const;
/** A way to try the lock, without its `tryAcquire`. */
export type Way = (typeof WAYS)[number];

interface Stored {
  readonly _id: string;
  readonly readers: readonly { readonly upgrading?: boolean }[];
}

/**
 * One unused reader-writer lock, opened by two providers.
 *
 * If they keep their reads, two things differ, and nothing else. Readers of one process share one lease, with its id
 * and its token. And a process has to hear of a waiter: until then it shares its read with new readers, and it gives an
 * idle read back only after a request that the read has kept out.
 */
export class ReaderWriterWorld extends TwoProviders {
  readonly name: string = this.freshName();
  readonly lockHere: ReaderWriterLock;
  readonly lockThere: ReaderWriterLock;
  /** Whether the readers of one process share one lease. */
  readonly sharesReads: boolean;
  readonly #keeps: boolean;

  private constructor({ wakeups, keeps }: OwnSubject, options?: LockProviderOptions) {
    super(wakeups, options);
    this.#keeps = keeps;
    this.sharesReads = keeps && wakeups === 'change-stream';
    this.lockHere = this.open(this.here);
    this.lockThere = this.open(this.there);
  }

  static async opened(subject: OwnSubject, options?: LockProviderOptions): Promise<ReaderWriterWorld> {
    const world = new ReaderWriterWorld(subject, options);
    if (subject.keeps) await untilKeeping(world);
    return world;
  }

  /** A new lock object. */
  open(locks: LockProvider): ReaderWriterLock {
    return locks.createReaderWriterLock(this.name, this.#keeps ? { keepMs: KEEP_MS } : {});
  }

  async untilWaiting(count: number): Promise<void> {
    await this.untilWaitingIn(this.name, count);
  }

  async queueUp<const W extends Waits>(...waits: W): Promise<Started<W>> {
    // A reader may share the read of its process until that process has heard of those who wait.
    return await this.queueUpIn(this.name, waits, this.sharesReads);
  }

  /** Resolves when an upgrade waits for the other readers to leave. */
  async untilUpgrading(): Promise<void> {
    const documents = this.database.plain.db.collection<Stored>('distributed.locks');
    await eventually('an upgrade is pending', async () => {
      const stored = await documents.findOne({ _id: this.name });
      return stored?.readers.some(({ upgrading }) => upgrading === true);
    });
  }

  /** Expects that a try of either provider is granted now in these modes, and in no other. Releases each grant. */
  async expectOpen(...expected: readonly Way[]): Promise<void> {
    const open: Way[] = [];
    for (const way of WAYS) {
      for (const lock of [this.lockHere, this.lockThere]) {
        const attempt = (): Promise<boolean> => isGranted(lock, way);
        if (this.sharesReads) await expectSoon(way, attempt, expected.includes(way));
        else if (await attempt()) open.push(way);
      }
    }
    if (!this.sharesReads) expect(open).toEqual(expected.flatMap((way) => [way, way]));
  }

  /** Expects that a try upgrades this hold. Another process may first have to give back an idle read. */
  async expectUpgrade(hold: ReaderWriterHandle): Promise<void> {
    if (this.sharesReads) await eventually('the upgrade', () => hold.tryUpgrade());
    else expect(await hold.tryUpgrade()).toBe(true);
  }
}

async function isGranted(lock: ReaderWriterLock, way: Way): Promise<boolean> {
  const hold = await lock[`tryAcquire${way}`]();
  await hold?.release();
  return hold !== null;
}

async function expectSoon(way: Way, attempt: () => Promise<boolean>, isOpen: boolean): Promise<void> {
  await eventually(
    `a try is ${isOpen ? 'granted' : 'busy'}: ${way}`,
    async () => (await attempt()) === isOpen,
  );
}
