import { onAbort } from '../abort-listeners.js';
import { inspect } from 'node:util';
import { within } from '../clock.js';
import { AcquireTimeoutError, LockLostError } from '../errors.js';
import { LeaseHandle } from '../lease/lock-handle.js';
import type { LockHandle } from '../lease/lock-handle.js';
import { leaseTerms } from '../options/provider-options.js';
import { parseAcquireOptions, parsePermits } from '../options/request-options.js';
import type { AcquireOptions, WaitingCall } from '../options/request-options.js';
import { refuseUnknownKeys } from '../options/unknown-keys.js';
import type { KeysOf } from '../options/unknown-keys.js';
import { CompositeLeaseHandle } from './composite-handle.js';
import type { CompositeHandle } from './composite-handle.js';
import { MutexFace } from './mutex.js';
import type { Mutex } from './mutex.js';
import { ReaderWriterLockFace } from './reader-writer-lock.js';
import type { ReaderWriterLock } from './reader-writer-lock.js';
import type { Requester } from './requester.js';
import { SemaphoreFace } from './semaphore.js';
import type { Semaphore } from './semaphore.js';

/** A mutex among locks that are acquired together. */
export interface MutexRequest {
  /** The mutex to hold. */
  readonly mutex: Mutex;
}

/** A read among locks that are acquired together. */
export interface ReadRequest {
  /** The lock to read under. */
  readonly read: ReaderWriterLock;
}

/** A write among locks that are acquired together. */
export interface WriteRequest {
  /** The lock to write under. */
  readonly write: ReaderWriterLock;
}

/** An upgradeable read among locks that are acquired together. */
export interface UpgradeableReadRequest {
  /** The lock to read under until it is upgraded. */
  readonly upgradeableRead: ReaderWriterLock;
}

/** Permits among locks that are acquired together. */
export interface PermitRequest {
  /** The semaphore to take them from. */
  readonly semaphore: Semaphore;
  /** How many: 1 to the limit, default 1. */
  readonly permits?: number | undefined;
}

/** One of several locks that are acquired together, and how. */
export type LockRequest = MutexRequest | ReadRequest | WriteRequest | UpgradeableReadRequest | PermitRequest;

/** One request, checked. */
interface Member {
  readonly name: string;
  acquire(options: AcquireOptions): Promise<LockHandle>;
}

interface Taken {
  readonly member: Member;
  readonly handle: LockHandle;
}

/** How long the error waits for the releases to be answered. A timeout that is late already has less of it. */
const GIVE_BACK_MS = 1_000;

/**
 * Takes all or none, in the canonical order, each with what is left of the time. If one is lost while others are waited
 * for, everything is given back, and asked for again while there is time.
 */
export async function acquireAll<const R extends readonly LockRequest[]>(
  requester: Requester,
  requests: R,
  options: AcquireOptions | undefined,
  call: WaitingCall,
): Promise<CompositeHandle<R>> {
  const members = parseRequests(requester, requests);
  const { clock, settings } = requester.context;
  const terms = leaseTerms(settings, settings.leaseMs);
  const { timeoutMs, signal } = parseAcquireOptions(settings, terms, options, call);
  const startedMs = clock.nowMs();
  const acquire = async (member: Member, held: readonly LockHandle[]): Promise<LockHandle> => {
    const remainingMs = Math.max(0, startedMs + timeoutMs - clock.nowMs());
    // A single try would wait for a store that does not answer, though the time is up.
    if (remainingMs === 0 && timeoutMs > 0)
      throw new AcquireTimeoutError(member.name, { waitedMs: timeoutMs });
    return await whileHeld(held, signal, (either) =>
      member.acquire({ ...options, signal: either, timeoutMs: remainingMs }),
    );
  };
  /** All at once, and no longer than a silent store may keep a caller that has given up: it goes on in the background. */
  const giveBack = async (held: readonly LockHandle[]): Promise<void> => {
    const released = Promise.all(held.map((handle) => handle.release()));
    // A single try has no time of its own to be late for.
    const lateMs = timeoutMs === 0 ? 0 : Math.max(0, clock.nowMs() - startedMs - timeoutMs);
    await within(clock, Math.max(0, GIVE_BACK_MS - lateMs), released);
  };
  const inOrder = members.toSorted(byName);
  for (;;) {
    const taken: Taken[] = [];
    const held = (): readonly LockHandle[] => taken.map(({ handle }) => handle);
    try {
      for (const member of inOrder) taken.push({ member, handle: await acquire(member, held()) });
      for (const handle of held()) handle.assertHeld();
      return composite<R>(members, taken);
    } catch (error) {
      await giveBack(held());
      if (!(error instanceof LockLostError)) throw error;
      // Whoever aborted is told their own reason, and not of a loss that came at the same time.
      signal?.throwIfAborted();
      const waitedMs = clock.nowMs() - startedMs;
      if (waitedMs >= timeoutMs) throw new AcquireTimeoutError(error.lockName ?? '', { waitedMs });
    }
  }
}

/** By the code units of the names: the same for all callers, so that none of them wait for each other in a circle. */
const byName = (a: Member, b: Member): number => (a.name < b.name ? -1 : 1);

function composite<R extends readonly LockRequest[]>(
  members: readonly Member[],
  taken: readonly Taken[],
): CompositeHandle<R> {
  const handleOf = new Map(taken.map(({ member, handle }) => [member, handle]));
  const handles = members.map((member) => handleOf.get(member));
  return new CompositeLeaseHandle<R>(
    // Each member acquires what its request says, and so the handle has the type that follows from it.
    handles as unknown as CompositeHandle<R>['handles'],
    taken.map(({ handle }) => handle),
  );
}

/**
 * Waits with a signal that also aborts when one of these is lost: then the rest is not worth waiting for. It does not
 * ask for the handles' own signals, which would keep them from ever being forgotten.
 */
async function whileHeld<T>(
  held: readonly LockHandle[],
  signal: AbortSignal | undefined,
  wait: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const controller = new AbortController();
  const abort = (): void => {
    controller.abort(signal?.reason);
  };
  if (signal?.aborted === true) abort();
  const forget = onAbort(signal, abort);
  const unwatch = held.map((handle) =>
    onEnded(handle, () => {
      controller.abort(lossOf(handle));
    }),
  );
  try {
    return await wait(controller.signal);
  } finally {
    // A signal of the caller's may outlive many requests.
    forget();
    for (const end of unwatch) end();
  }
}

const onEnded = (handle: LockHandle, callback: () => void): (() => void) =>
  handle instanceof LeaseHandle ? handle.onEnded(callback) : () => undefined;

function lossOf(handle: LockHandle): unknown {
  try {
    handle.assertHeld();
    return undefined;
  } catch (error) {
    return error;
  }
}

interface KeysOfRequests {
  readonly mutex: KeysOf<MutexRequest>;
  readonly read: KeysOf<ReadRequest>;
  readonly write: KeysOf<WriteRequest>;
  readonly upgradeableRead: KeysOf<UpgradeableReadRequest>;
  readonly semaphore: KeysOf<PermitRequest>;
}

/** By the key that says how a lock is wanted. */
const KEYS_OF_REQUESTS: KeysOfRequests = {
  mutex: { mutex: true },
  read: { read: true },
  write: { write: true },
  upgradeableRead: { upgradeableRead: true },
  semaphore: { semaphore: true, permits: true },
};

const WAYS = ['mutex', 'read', 'write', 'upgradeableRead', 'semaphore'] as const;

function parseRequests(requester: Requester, requests: readonly LockRequest[]): readonly Member[] {
  if (!isList(requests)) throw new TypeError(`requests must be an array, got ${inspect(requests)}`);
  if (requests.length === 0) throw new TypeError('requests must name at least one lock, got an empty array');
  const members = requests.map((request, index) => parseRequest(requester, request, index));
  const names = new Set<string>();
  for (const { name } of members) {
    if (names.has(name)) throw new TypeError(`requests must name each lock once, got ${inspect(name)} twice`);
    names.add(name);
  }
  return members;
}

const isList = (value: unknown): boolean => Array.isArray(value);

function parseRequest(requester: Requester, request: LockRequest, index: number): Member {
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
  return memberOf(requester, request, at);
}

function memberOf(requester: Requester, request: LockRequest, at: string): Member {
  const own = <F extends Face>(lock: unknown, face: new (...args: never[]) => F, what: string): F => {
    if (lock instanceof face && lock.belongsTo(requester)) return lock;
    throw new TypeError(`${at} must name a ${what} of this provider`);
  };
  if ('mutex' in request) {
    const lock = own(request.mutex, MutexFace, 'mutex');
    return { name: lock.name, acquire: (options) => lock.acquire(options) };
  }
  if ('semaphore' in request) {
    const lock = own(request.semaphore, SemaphoreFace, 'semaphore');
    const permits = parsePermits(request.permits, lock.limit);
    return { name: lock.name, acquire: (options) => lock.acquire({ ...options, permits }) };
  }
  if ('read' in request) {
    const lock = own(request.read, ReaderWriterLockFace, 'reader-writer lock');
    return { name: lock.name, acquire: (options) => lock.acquireRead(options) };
  }
  if ('write' in request) {
    const lock = own(request.write, ReaderWriterLockFace, 'reader-writer lock');
    return { name: lock.name, acquire: (options) => lock.acquireWrite(options) };
  }
  const lock = own(request.upgradeableRead, ReaderWriterLockFace, 'reader-writer lock');
  return { name: lock.name, acquire: (options) => lock.acquireUpgradeableRead(options) };
}

interface Face {
  belongsTo(requester: Requester): boolean;
}
