import { etcd3Election, etcd3Lock } from './libraries/etcd3.js';
import { bareDriver, leasehold, pollingMutex } from './libraries/mongodb.js';
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

/** Whatever can take many names at once: the floor, this library, and those whose users lock one name for each thing. */
export const LOADS = {
  'bare driver': bareDriver,
  leasehold,
  'etcd3 lock': etcd3Lock,
  redlock,
  'redis-semaphore': redisSemaphore,
} as const satisfies Readonly<Record<string, Library>>;

export type LoadName = keyof typeof LOADS;
