import { load } from '../packages.js';
import type { Contender, Library, Release } from '../library.js';

/** A connection of ioredis, as far as it is used here. */
interface RedisClient {
  ping(): Promise<string>;
  info(section: string): Promise<string>;
  quit(): Promise<unknown>;
}

/** Resolves when it is connected. */
export async function connectToRedis(uri: string): Promise<RedisClient> {
  const { Redis } = load('ioredis') as { Redis: new (uri: string) => RedisClient };
  const client = new Redis(uri);
  await client.ping();
  return client;
}

interface Redlock {
  acquire(names: string[], leaseMs: number, settings: { retryCount: number }): Promise<{ release: Release }>;
}

/** The library has no default. */
const LEASE_MS = 10_000;

export const redlock: Library = {
  server: 'Redis',
  waits: 'tries again after 100 to 300 ms, at random; defaults except for retryCount -1, one server',
  sends: ['eval', 'evalsha'],
  async connect({ uri }) {
    const { default: Redlock } = load('redlock') as { default: new (clients: RedisClient[]) => Redlock };
    const client = await connectToRedis(uri);
    const locker = new Redlock([client]);
    return contenderOf(client, async (name) => {
      const lock = await locker.acquire([name], LEASE_MS, { retryCount: -1 });
      return () => lock.release();
    });
  },
};

interface RedisMutex {
  acquire(): Promise<void>;
  release: Release;
}

type MutexClass = new (client: RedisClient, key: string, options: { acquireTimeout: number }) => RedisMutex;

export const redisSemaphore: Library = {
  server: 'Redis',
  waits: 'tries again every 10 ms; defaults except for acquireTimeout, an hour',
  sends: ['set', 'eval', 'evalsha'],
  async connect({ uri }) {
    const { Mutex } = load('redis-semaphore') as { Mutex: MutexClass };
    const client = await connectToRedis(uri);
    return contenderOf(client, async (name) => {
      const mutex = new Mutex(client, name, { acquireTimeout: 3_600_000 });
      await mutex.acquire();
      return () => mutex.release();
    });
  },
};

const contenderOf = (client: RedisClient, acquire: Contender['acquire']): Contender => ({
  acquire,
  close: () => client.quit(),
});
