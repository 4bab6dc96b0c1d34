import { it } from 'vitest';

import { pause } from '../../../lab/patience.js';
import { ProcessWorld } from './process-world.js';
import type { Subject } from './process-world.js';

/** Tests of processes that have nothing left to do. */
export function endings(subject: Subject): void {
  type Close = readonly ('provider' | 'client')[];
  const closings: readonly (readonly [string, Close])[] = [
    ['its provider and its client', ['provider', 'client']],
    ['its client alone', ['client']],
    ['its client before its provider', ['client', 'provider']],
  ];

  it.each(closings)('a process that holds and waits ends by itself after closing %s', async (_, close) => {
    await using world = new ProcessWorld(subject, { leaseMs: 30_000 });
    const worker = await world.worker();
    await worker.tell({ do: 'acquire' }, 'granted');
    // The second request waits behind the first, so the process opens its change stream or polls.
    await worker.tell({ do: 'acquire' }, 'waiting');
    await pause(50);
    await worker.tell({ do: 'end', close }, 'ending');
    await worker.endsByItself();
  });

  it('a process that has waited for a lock, held it and released it ends by itself', async () => {
    await using world = new ProcessWorld(subject);
    const worker = await world.worker();
    const hold = await world.provider().createMutex(world.lockName).acquire();
    await worker.tell({ do: 'acquire' }, 'waiting');
    await hold.release();
    await worker.heard('granted');
    await worker.tell({ do: 'release' }, 'released');
    await worker.tell({ do: 'end', close: ['provider', 'client'] }, 'ending');
    await worker.endsByItself();
  });
}
