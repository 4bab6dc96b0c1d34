import { inspect } from 'node:util';
import type { LockHandle } from '../lease/holding/lock-handle.js';
import { parsePermits } from '../options/request-options.js';
import { refuseUnknownKeys } from '../options/unknown-keys.js';
import type { KeysOf } from '../options/unknown-keys.js';
import { MutexFace } from './mutex.js';
import type { Mutex } from './mutex.js';
import { ReaderWriterLockFace } from './reader-writer-lock.js';
import type { ReaderWriterLock } from './reader-writer-lock.js';
import type { Requester, Target } from './requester.js';
import { SemaphoreFace } from './semaphore.js';
import type { Semaphore } from './semaphore.js';

/** A request for a mutex, as one of several locks. */
export interface MutexRequest {
  /** The mutex to hold. */
  readonly mutex: Mutex;
}

/** A request for a read, as one of several locks. */
export interface ReadRequest {
  /** The lock to hold in the mode `read`. */
  readonly read: ReaderWriterLock;
}

/** A request for a write, as one of several locks. */
export interface WriteRequest {
  /** The lock to hold in the mode `write`. */
  readonly write: ReaderWriterLock;
}

/** A request for an upgradeable read, as one of several locks. */
export interface UpgradeableReadRequest {
  /** The lock to hold in the mode `upgradeable`; its handle can upgrade to a write. */
  readonly upgradeableRead: ReaderWriterLock;
}

/** A request for permits, as one of several locks. */
export interface PermitRequest {
  /** The semaphore to take the permits from. */
  readonly semaphore: Semaphore;
  /** The number of permits: 1 to the limit, default 1. */
  readonly permits?: number | undefined;
}

/** A request for one of several locks that are acquired together. */
export type LockRequest = MutexRequest | ReadRequest | WriteRequest | UpgradeableReadRequest | PermitRequest;

/** One request after the checks. */
export interface Part {
  readonly name: string;
  target(): Target<LockHandle>;
}

interface KeysOfRequests {
  readonly mutex: KeysOf<MutexRequest>;
  readonly read: KeysOf<ReadRequest>;
  readonly write: KeysOf<WriteRequest>;
  readonly upgradeableRead: KeysOf<UpgradeableReadRequest>;
  readonly semaphore: KeysOf<PermitRequest>;
}

/** The keys that a request may have, by the key that names its lock. */
const KEYS_OF_REQUESTS: KeysOfRequests = {
  mutex: { mutex: true },
  read: { read: true },
  write: { write: true },
  upgradeableRead: { upgradeableRead: true },
  semaphore: { semaphore: true, permits: true },
};

const WAYS = ['mutex', 'read', 'write', 'upgradeableRead', 'semaphore'] as const;

/** @throws `TypeError` for a wrong request; `RangeError` for a wrong number of permits. */
export function parseRequests(requester: Requester, requests: readonly LockRequest[]): readonly Part[] {
  if (!isList(requests)) throw new TypeError(`requests must be an array, got ${inspect(requests)}`);
  if (requests.length === 0) throw new TypeError('requests must name at least one lock, got an empty array');
  const parts = requests.map((request, index) => parseRequest(requester, request, index));
  const names = new Set<string>();
  for (const { name } of parts) {
    if (names.has(name)) throw new TypeError(`requests must name each lock once, got ${inspect(name)} twice`);
    names.add(name);
  }
  return parts;
}

const isList = (value: unknown): boolean => Array.isArray(value);

function parseRequest(requester: Requester, request: LockRequest, index: number): Part {
  const at = `requests[${String(index)}]`;
  if (typeof request !== 'object' || (request as LockRequest | null) === null) {
    throw new TypeError(`${at} must be an object, got ${inspect(request)}`);
  }
  const [way, ...others] = WAYS.filter((each) => each in request);
  if (way === undefined || others.length > 0) {
    const given = Object.keys(request).join(', ');
    throw new TypeError(`${at} must have exactly one of ${WAYS.join(', ')}, got { ${given} }`);
  }
  refuseUnknownKeys(request, at, KEYS_OF_REQUESTS[way]);
  return partOf(requester, request, at);
}

function partOf(requester: Requester, request: LockRequest, at: string): Part {
  const own = <F extends Face>(lock: unknown, face: new (...args: never[]) => F, what: string): F => {
    if (lock instanceof face && lock.belongsTo(requester)) return lock;
    throw new TypeError(`${at} must name a ${what} of this provider`);
  };
  if ('mutex' in request) {
    const lock = own(request.mutex, MutexFace, 'mutex');
    return { name: lock.name, target: () => lock.target };
  }
  if ('semaphore' in request) {
    const lock = own(request.semaphore, SemaphoreFace, 'semaphore');
    const permits = parsePermits(request.permits, lock.limit);
    return { name: lock.name, target: () => lock.target(permits) };
  }
  if ('read' in request) {
    const lock = own(request.read, ReaderWriterLockFace, 'reader-writer lock');
    return { name: lock.name, target: () => lock.readTarget };
  }
  if ('write' in request) {
    const lock = own(request.write, ReaderWriterLockFace, 'reader-writer lock');
    return { name: lock.name, target: () => lock.writeTarget };
  }
  const lock = own(request.upgradeableRead, ReaderWriterLockFace, 'reader-writer lock');
  return { name: lock.name, target: () => lock.upgradeableReadTarget };
}

interface Face {
  belongsTo(requester: Requester): boolean;
}
