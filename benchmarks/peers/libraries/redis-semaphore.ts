import { load } from '../packages.js';
import { LOCK_NAME } from '../peer.js';
import type { Peer, Release } from '../peer.js';
import { connectToRedis } from '../redis-client.js';
import type { RedisClient } from '../redis-client.js';

interface RedisMutex {
  acquire(): Promise<void>;
  release: Release;
}

type Mutex = new (client: RedisClient, key: string, options: { acquireTimeout: number }) => RedisMutex;

const WITHOUT_BOUND = { acquireTimeout: 3_600_000 };

export const redisSemaphore: Peer = {
  server: 'Redis',
  waits: 'tries again every 10 ms; defaults but for acquireTimeout, an hour',
  sends: ['set', 'eval', 'evalsha'],
  isGated: true,
  async connect({ uri }) {
    const { Mutex } = load('redis-semaphore') as { Mutex: Mutex };
    const client = await connectToRedis(uri);
    const mutex = new Mutex(client, LOCK_NAME, WITHOUT_BOUND);
    return {
      async acquire() {
        await mutex.acquire();
        return () => mutex.release();
      },
      async close() {
        await client.quit();
      },
    };
  },
};
