import { etcd3Election, etcd3Lock } from './libraries/etcd3.js';
import { leasehold, pollingMutex } from './libraries/mongodb.js';
import { redisSemaphore, redlock } from './libraries/redis.js';
import type { Library } from './library.js';

/** All libraries, in the order of a round. */
export const LIBRARIES = {
  leasehold,
  redlock,
  'redis-semaphore': redisSemaphore,
  'etcd3 lock': etcd3Lock,
  'etcd3 election': etcd3Election,
  'polling mutex': pollingMutex,
} as const satisfies Readonly<Record<string, Library>>;

export type LibraryName = keyof typeof LIBRARIES;
