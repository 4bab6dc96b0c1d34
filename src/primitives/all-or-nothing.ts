import { LinkedController } from '../abort-listeners.js';
import { within } from '../clock.js';
import { AcquireTimeoutError, LockLostError } from '../errors.js';
import { LeaseHandle } from '../lease/holding/lease-handle.js';
import type { LockHandle } from '../lease/holding/lock-handle.js';
import { leaseTerms } from '../options/provider-options.js';
import { parseAcquireOptions } from '../options/request-options.js';
import type { AcquireOptions, WaitingCall } from '../options/request-options.js';
import { CompositeLeaseHandle } from './composite-handle.js';
import type { CompositeHandle } from './composite-handle.js';
import { parseRequests } from './lock-request.js';
import type { LockRequest, Part } from './lock-request.js';
import type { Requester } from './requester.js';

interface Taken {
  readonly part: Part;
  readonly handle: LockHandle;
}

/**
 * The longest time that a failed call waits for its releases, in ms. The time by which the call is already late is
 * subtracted.
 */
const GIVE_BACK_MS = 1_000;

/**
 * Acquires all locks or none, in the order of their names. Each acquire has the time that is left. If a lock is lost
 * while the call waits for another one, the call gives everything back, and starts again while there is time.
 */
export async function acquireAll<const R extends readonly LockRequest[]>(
  requester: Requester,
  requests: R,
  options: AcquireOptions | undefined,
  call: WaitingCall,
): Promise<CompositeHandle<R>> {
  const parts = parseRequests(requester, requests);
  const { clock, settings } = requester.context;
  const terms = leaseTerms(settings, settings.leaseMs);
  const { timeoutMs, signal } = parseAcquireOptions(settings, terms, options, call);
  const startedMs = clock.nowMs();
  const acquire = async (part: Part, held: readonly LockHandle[]): Promise<LockHandle> => {
    const remainingMs = Math.max(0, startedMs + timeoutMs - clock.nowMs());
    // With a timeout of 0 the acquire would be a single try, which waits for a silent store although the time is up.
    if (remainingMs === 0 && timeoutMs > 0) throw new AcquireTimeoutError(part.name, { waitedMs: timeoutMs });
    return await whileHeld(held, signal, (either) =>
      part.acquire({ ...options, signal: either, timeoutMs: remainingMs }),
    );
  };
  /**
   * Releases all locks at once. If the store is silent, the caller waits for a bounded time, and the releases continue
   * in the background.
   */
  const giveBack = async (held: readonly LockHandle[]): Promise<void> => {
    const released = Promise.all(held.map((handle) => handle.release()));
    // A single try (`timeoutMs` 0) is never late, so its releases get the whole `GIVE_BACK_MS`.
    const lateMs = timeoutMs === 0 ? 0 : Math.max(0, clock.nowMs() - startedMs - timeoutMs);
    await within(clock, Math.max(0, GIVE_BACK_MS - lateMs), released);
  };
  const inOrder = parts.toSorted(byName);
  for (;;) {
    const taken: Taken[] = [];
    const held = (): readonly LockHandle[] => taken.map(({ handle }) => handle);
    try {
      for (const part of inOrder) taken.push({ part, handle: await acquire(part, held()) });
      for (const handle of held()) handle.assertHeld();
      return composite<R>(parts, taken);
    } catch (error) {
      await giveBack(held());
      if (!(error instanceof LockLostError)) throw error;
      // If the caller has aborted, it gets the reason of its abort, and not a loss that happened at the same time.
      signal?.throwIfAborted();
      const waitedMs = clock.nowMs() - startedMs;
      if (waitedMs >= timeoutMs) throw new AcquireTimeoutError(error.lockName ?? '', { waitedMs });
    }
  }
}

/** By the code units of the names: all callers use the same order, so they never wait for each other in a circle. */
const byName = (a: Part, b: Part): number => (a.name < b.name ? -1 : 1);

function composite<R extends readonly LockRequest[]>(
  parts: readonly Part[],
  taken: readonly Taken[],
): CompositeHandle<R> {
  const handleOf = new Map(taken.map(({ part, handle }) => [part, handle]));
  const handles = parts.map((part) => handleOf.get(part));
  return new CompositeLeaseHandle<R>(
    // Each part acquires what its request says, so each handle has the type that follows from the request.
    handles as unknown as CompositeHandle<R>['handles'],
    taken.map(({ handle }) => handle),
  );
}

/**
 * Waits with a signal that also aborts when one of these handles is lost: the other locks are not worth waiting for
 * then. The function does not read the signals of the handles; if it did, the library could not find out any more that
 * the caller has forgotten a handle.
 */
async function whileHeld<T>(
  held: readonly LockHandle[],
  signal: AbortSignal | undefined,
  wait: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const controller = new LinkedController(signal);
  const unwatch = held.map((handle) =>
    onEnded(handle, () => {
      controller.abort(lossOfHandle(handle));
    }),
  );
  try {
    return await wait(controller.signal);
  } finally {
    controller.unlink();
    for (const end of unwatch) end();
  }
}

const onEnded = (handle: LockHandle, callback: () => void): (() => void) =>
  handle instanceof LeaseHandle ? handle.onEnded(callback) : () => undefined;

function lossOfHandle(handle: LockHandle): unknown {
  try {
    handle.assertHeld();
    return undefined;
  } catch (error) {
    return error;
  }
}
