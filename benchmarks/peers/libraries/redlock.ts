import { load } from '../packages.js';
import { LOCK_NAME } from '../peer.js';
import type { Peer, Release } from '../peer.js';
import { connectToRedis } from '../redis-client.js';
import type { RedisClient } from '../redis-client.js';

interface Locker {
  acquire(
    resources: string[],
    leaseMs: number,
    settings: { retryCount: number },
  ): Promise<{ release: Release }>;
}

type Redlock = new (clients: readonly RedisClient[]) => Locker;

/** It has no default. */
const LEASE_MS = 10_000;
const WITHOUT_BOUND = { retryCount: -1 };

export const redlock: Peer = {
  server: 'Redis',
  waits: 'tries again after 100 to 300 ms, at random; defaults but for retryCount -1, one server',
  sends: ['eval', 'evalsha'],
  isGated: true,
  async connect({ uri }) {
    const { default: Redlock } = load('redlock') as { default: Redlock };
    const client = await connectToRedis(uri);
    const locker = new Redlock([client]);
    return {
      async acquire() {
        const lock = await locker.acquire([LOCK_NAME], LEASE_MS, WITHOUT_BOUND);
        return () => lock.release();
      },
      async close() {
        await client.quit();
      },
    };
  },
};
