import { etcd3Election, etcd3Lock } from './libraries/etcd3.js';
import { leasehold } from './libraries/leasehold.js';
import { pollingMutex } from './libraries/polling-mutex.js';
import { postgresql } from './libraries/postgresql.js';
import { redisSemaphore, redlock } from './libraries/redis.js';
import type { Peer } from './peer.js';

/** All libraries, in the order of a round. */
export const LINE_UP = {
  leasehold,
  redlock,
  'redis-semaphore': redisSemaphore,
  'etcd3 lock': etcd3Lock,
  'etcd3 election': etcd3Election,
  PostgreSQL: postgresql,
  'polling mutex': pollingMutex,
} as const satisfies Readonly<Record<string, Peer>>;

export type PeerName = keyof typeof LINE_UP;
