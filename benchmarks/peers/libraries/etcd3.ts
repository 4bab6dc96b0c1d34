import { sleep } from '../../measure.js';
import { load } from '../packages.js';
import { LOCK_NAME } from '../peer.js';
import type { Peer, Release } from '../peer.js';

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
  close(): void;
}

interface Etcd3 {
  readonly Etcd3: new (options: { hosts: string }) => EtcdClient;
  readonly EtcdLockFailedError: new () => Error;
}

/** The lock does not wait, so this benchmark tries again, as often as redis-semaphore does. */
const TRY_EVERY_MS = 10;

export const etcd3Lock: Peer = {
  server: 'etcd',
  waits: `the lock fails at once and is tried again every ${TRY_EVERY_MS} ms; defaults`,
  sends: ['Txn', 'Range', 'Watch', 'LeaseGrant', 'LeaseRevoke', 'LeaseKeepAlive'],
  isGated: true,
  connect: ({ uri }) => {
    const { Etcd3, EtcdLockFailedError } = load('etcd3') as Etcd3;
    const client = new Etcd3({ hosts: uri });
    return Promise.resolve({
      async acquire() {
        for (;;) {
          const lock = client.lock(LOCK_NAME);
          try {
            await lock.acquire();
            return () => lock.release();
          } catch (error) {
            if (!(error instanceof EtcdLockFailedError)) throw error;
            await sleep(TRY_EVERY_MS);
          }
        }
      },
      close: () => closed(client),
    });
  },
};

/** The queue of etcd3: the lock is leadership. */
export const etcd3Election: Peer = {
  ...etcd3Lock,
  waits: 'queued, each watches the one before; an election as a lock, defaults',
  connect: ({ uri }) => {
    const { Etcd3 } = load('etcd3') as Etcd3;
    const client = new Etcd3({ hosts: uri });
    const election = client.election(LOCK_NAME);
    return Promise.resolve({
      async acquire() {
        const campaign = election.campaign(String(process.pid));
        await campaign.wait();
        return () => campaign.resign();
      },
      close: () => closed(client),
    });
  },
};

function closed(client: EtcdClient): Promise<void> {
  client.close();
  return Promise.resolve();
}
