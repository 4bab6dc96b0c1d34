import { sleep } from '../../measure.js';
import { load } from '../packages.js';
import type { Library, Release } from '../library.js';

interface EtcdLock {
  /** Fails at once if another process holds the lock. */
  acquire(): Promise<unknown>;
  release: Release;
}

interface Campaign {
  wait(): Promise<unknown>;
  resign: Release;
}

interface EtcdClient {
  lock(key: string): EtcdLock;
  election(name: string): { campaign(value: string): Campaign };
  close(): unknown;
}

interface Etcd3 {
  readonly Etcd3: new (options: { hosts: string }) => EtcdClient;
  readonly EtcdLockFailedError: new () => Error;
}

/** The lock does not wait, so this benchmark tries again, as often as redis-semaphore does. */
const TRY_EVERY_MS = 10;

export const etcd3Lock: Library = {
  server: 'etcd',
  waits: `the lock fails at once and is tried again every ${TRY_EVERY_MS} ms; defaults`,
  sends: ['Txn', 'Range', 'Watch', 'LeaseGrant', 'LeaseRevoke', 'LeaseKeepAlive'],
  connect: ({ uri }) => {
    const { Etcd3, EtcdLockFailedError } = load('etcd3') as Etcd3;
    const client = new Etcd3({ hosts: uri });
    return Promise.resolve({
      async acquire(name) {
        for (;;) {
          const lock = client.lock(name);
          try {
            await lock.acquire();
            return () => lock.release();
          } catch (error) {
            if (!(error instanceof EtcdLockFailedError)) throw error;
            await sleep(TRY_EVERY_MS);
          }
        }
      },
      close: () => Promise.resolve(client.close()),
    });
  },
};

/** The queue of etcd3: the lock is leadership. */
export const etcd3Election: Library = {
  ...etcd3Lock,
  waits: 'queued, each watches the one before; an election as a lock, defaults',
  connect: ({ uri }) => {
    const { Etcd3 } = load('etcd3') as Etcd3;
    const client = new Etcd3({ hosts: uri });
    return Promise.resolve({
      async acquire(name) {
        const campaign = client.election(name).campaign(String(process.pid));
        await campaign.wait();
        return () => campaign.resign();
      },
      close: () => Promise.resolve(client.close()),
    });
  },
};
