import type { ReaderWriterLock } from '../../../src/index.js';
import { eventually } from '../../../lab/patience.js';
import { TwoProviders } from './two-providers.js';
import type { Started, Waits } from './two-providers.js';

const TRIES = ['tryAcquireRead', 'tryAcquireUpgradeableRead', 'tryAcquireWrite'] as const;

interface Stored {
  readonly _id: string;
  readonly readers: readonly { readonly upgrading?: boolean }[];
}

/** One unused reader-writer lock, opened by two providers. */
export class ReaderWriterWorld extends TwoProviders {
  readonly name: string = this.freshName();
  readonly lockHere: ReaderWriterLock = this.here.createReaderWriterLock(this.name);
  readonly lockThere: ReaderWriterLock = this.there.createReaderWriterLock(this.name);

  async untilWaiting(count: number): Promise<void> {
    await this.untilWaitingIn(this.name, count);
  }

  async queueUp<const W extends Waits>(...waits: W): Promise<Started<W>> {
    return await this.queueUpIn(this.name, waits);
  }

  /** Resolves when an upgrade waits for the other readers to leave. */
  async untilUpgrading(): Promise<void> {
    const documents = this.database.plain.db.collection<Stored>('distributed.locks');
    await eventually('an upgrade is pending', async () => {
      const stored = await documents.findOne({ _id: this.name });
      return stored?.readers.some(({ upgrading }) => upgrading === true);
    });
  }

  /** The modes in which a try of either provider is granted now. Each grant is released at once. */
  async openWays(): Promise<readonly string[]> {
    const open: string[] = [];
    for (const way of TRIES) {
      for (const lock of [this.lockHere, this.lockThere]) {
        const hold = await lock[way]();
        if (hold === null) continue;
        open.push(way.replace('tryAcquire', ''));
        await hold.release();
      }
    }
    return open;
  }
}
