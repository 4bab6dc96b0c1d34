import { afterEach, describe, expect, it, vi } from 'vitest';

import { QuorumLockProvider } from '../../../src/quorum/index.js';
import { MemoryReplicaSet } from '../../../src/testing/index.js';
import { later, rejection } from '../../../lab/patience.js';
import { untilSettled } from '../testing/fleet.js';
import { keepHold } from '../../support/keep-hold.js';

afterEach(() => {
  vi.restoreAllMocks();
});

/** The messages of the warnings about a store, in their order. */
function captureStoreWarnings(): () => readonly string[] {
  const spy = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
  return () =>
    spy.mock.calls
      .filter(([, options]) => (options as unknown as { code?: string }).code === 'LEASEHOLD_STORE_ERROR')
      .map(([message]) => String(message));
}

describe('a quorum whose clients are closed before it', () => {
  it('gives no warning about its change streams, and one that names the store about a call', async () => {
    const first = new MemoryReplicaSet({ time: 'virtual', seed: 81 });
    const sets = [first, ...[82, 83].map((seed) => new MemoryReplicaSet({ time: first, seed }))];
    const dbs = sets.map((set) => set.db('app'));
    const holder = new QuorumLockProvider(sets.map((set) => set.db('app')));
    const locks = new QuorumLockProvider(dbs);
    const warnings = captureStoreWarnings();
    await keepHold(untilSettled(first, holder.createMutex('a').acquire()));
    const waiting = later(locks.createMutex('a').acquire({ timeoutMs: 60_000 }));
    await first.advance(5_000);
    expect(locks.health().stores.some(({ streams }) => streams > 0)).toBe(true);
    for (const { client } of dbs) await client.close();
    expect(await rejection(untilSettled(first, waiting))).toMatchObject({ code: 'QUORUM' });
    await untilSettled(first, locks.close());
    // The waiter's own tries fail too. The streams fail first, and their failures must not take the one warning a minute.
    const [message, ...others] = warnings();
    expect(message).toMatch(/^Store \d: The store failed or did not answer during transition of lock "a": /);
    expect(others).toEqual([]);
    await untilSettled(first, holder.close({ drainMs: 0 }));
    await Promise.all(sets.map((set) => set.close()));
  });
});
