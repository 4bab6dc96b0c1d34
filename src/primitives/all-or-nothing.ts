import { onAbort } from '../abort-listeners.js';
import { within } from '../clock.js';
import { AcquireTimeoutError, LockLostError } from '../errors.js';
import { LeaseHandle } from '../lease/holding/lock-handle.js';
import type { LockHandle } from '../lease/holding/lock-handle.js';
import { leaseTerms } from '../options/provider-options.js';
import { parseAcquireOptions } from '../options/request-options.js';
import type { AcquireOptions, WaitingCall } from '../options/request-options.js';
import { CompositeLeaseHandle } from './composite-handle.js';
import type { CompositeHandle } from './composite-handle.js';
import { parseRequests } from './lock-request.js';
import type { LockRequest, Member } from './lock-request.js';
import type { Requester } from './requester.js';

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
