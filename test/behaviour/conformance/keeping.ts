import { eventually } from '../../../lab/patience.js';
import { randomName } from '../../support/test-provider.js';
import { KEEP_MS } from './adapters.js';
import type { TwoProviders } from './two-providers.js';

/**
 * Resolves when both providers have an open change stream, so that from its first grant on they keep the seats of every
 * lock with `keepMs`. Without a change stream nothing is kept, and there is nothing to wait for.
 */
export async function untilKeeping(world: TwoProviders): Promise<void> {
  if (world.wakeups === 'polling') return;
  for (const client of [world.hereClient, world.thereClient]) {
    const locks = client === world.hereClient ? world.here : world.there;
    // A provider goes on listening for `keepMs` after it has given back the seat of this lock.
    const mutex = locks.createMutex(randomName('listened'), { keepMs: KEEP_MS });
    await eventually('the seat is kept', async () => {
      const sent = client.commands.length;
      await (await mutex.acquire()).release();
      return client.commands.length === sent;
    });
    await locks.revoke(mutex.name);
    await eventually('the seat is given back', async () => (await mutex.inspect())?.holders.length === 0);
  }
  for (const { commands } of [world.hereClient, world.thereClient]) commands.length = 0;
}
