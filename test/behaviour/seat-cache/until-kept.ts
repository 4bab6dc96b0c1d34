import type { LockHandle, ReaderWriterLock } from '../../../src/index.js';
import { eventually } from '../../../lab/patience.js';
import type { TestProvider } from '../../support/test-provider.js';

/** Acquires and releases until a round takes no command: then the stream is open, and the seat is kept. */
export async function untilKept(
  { commands }: TestProvider,
  lock: { acquire(): Promise<LockHandle> },
): Promise<void> {
  await eventually('a seat is kept', async () => {
    const before = commands.length;
    await (await lock.acquire()).release();
    return commands.length === before;
  });
}

/** The same for the reads of a lock. */
export const untilReadKept = (provider: TestProvider, lock: ReaderWriterLock): Promise<void> =>
  untilKept(provider, { acquire: () => lock.acquireRead() });
