import { LinkedController } from '../abort-listeners.js';
import { within } from '../clock.js';
import { AcquireTimeoutError, LockLostError } from '../errors.js';
import { newAttemptId } from '../lease/ids.js';
import { LeaseHandle } from '../lease/holding/lease-handle.js';
import type { LockHandle } from '../lease/holding/lock-handle.js';
import { leaseDurations } from '../options/provider-options.js';
import { parseAcquireOptions } from '../options/request-options.js';
import type { AcquireOptions, WaitingCall } from '../options/request-options.js';
import type { CallLimits } from '../scope.js';
import { CompositeLeaseHandle } from './composite-handle.js';
import type { CompositeHandle } from './composite-handle.js';
import { EarlyTries } from './early-tries.js';
import { parseRequests } from './lock-request.js';
import type { LockRequest, Part } from './lock-request.js';
import type { Requester } from './requester.js';

interface Taken {
  readonly part: Part;
  readonly handle: LockHandle;
}

/**
 * The longest time, in ms, for which a call waits for its releases before it goes on. If the call is past its timeout,
 * the time since the timeout is subtracted.
 */
const GIVE_BACK_MS = 1_000;

/**
 * Acquires all locks or none, by one or more rounds. If a lock is lost before the call holds all locks, the call gives
 * everything back, and begins another round while there is time.
 */
export async function acquireAll<const R extends readonly LockRequest[]>(
  requester: Requester,
  requests: R,
  options: AcquireOptions | undefined,
  call: WaitingCall,
): Promise<CompositeHandle<R>> {
  const parts = parseRequests(requester, requests);
  const { clock, settings } = requester.context;
  const durations = leaseDurations(settings, settings.leaseMs);
  const { timeoutMs, signal } = parseAcquireOptions(settings, durations, options, call);
  const limits = { timeoutMs, signal, startedMs: clock.nowMs() };
  const inOrder = parts.toSorted(byName);
  for (;;) {
    const round = new Round(requester, inOrder, options, limits);
    try {
      return composite<R>(parts, await round.run());
    } catch (error) {
      await round.giveBack();
      if (!(error instanceof LockLostError)) throw error;
      // A caller that has aborted gets the reason of its abort, and not a loss that happened at the same time.
      signal?.throwIfAborted();
      const waitedMs = clock.nowMs() - limits.startedMs;
      if (waitedMs >= timeoutMs) throw new AcquireTimeoutError(error.lockName ?? '', { waitedMs });
    } finally {
      round.end();
    }
  }
}

/**
 * One series of requests for all locks of a call. It ends when all locks are held, or with a failure.
 *
 * The request for the first lock waits if it has to. The round tries the other locks in the same turn of the event
 * loop, so that several free locks cost the time of one. A call that must not wait asks for one lock after the other
 * instead.
 *
 * The round keeps the locks up to the first one that it did not get. It gives back the locks behind that one, and then
 * waits for one lock after the other. So a round that waits keeps only locks whose names come before the awaited name,
 * and rounds never wait for each other in a circle (L1).
 */
class Round {
  readonly #requester: Requester;
  readonly #parts: readonly Part[];
  readonly #options: AcquireOptions | undefined;
  readonly #limits: CallLimits;
  /** Aborts with the caller's signal, and when a lock of the round is lost: then no other lock is worth waiting for. */
  readonly #controller: LinkedController;
  readonly #unwatch: (() => void)[] = [];
  readonly #taken: Taken[] = [];
  readonly #tries: EarlyTries;

  constructor(
    requester: Requester,
    parts: readonly Part[],
    options: AcquireOptions | undefined,
    limits: CallLimits,
  ) {
    this.#requester = requester;
    this.#parts = parts;
    this.#options = options;
    this.#limits = limits;
    this.#controller = new LinkedController(limits.signal);
    // If several calls that must not wait tried the same locks at once, each call could get some of the locks, and all
    // calls could fail again and again. So such a call asks for one lock after the other.
    const early = limits.timeoutMs === 0 ? [] : parts.slice(1);
    this.#tries = new EarlyTries(requester, early, options);
  }

  async run(): Promise<readonly Taken[]> {
    const [first, ...others] = this.#parts;
    if (first !== undefined) await this.#begin(first);
    if (others.length > 0) await this.#keepEarly();
    for (const part of this.#parts.slice(this.#taken.length)) {
      this.#take({ part, handle: await this.#acquire(part) });
    }
    for (const { handle } of this.#taken) handle.assertHeld();
    return this.#taken;
  }

  /**
   * Releases all locks at once, and waits for the releases up to a bound. Whatever is left then is released in the
   * background. That includes a lock whose try is granted only later.
   */
  async giveBack(): Promise<void> {
    this.end();
    const held = this.#taken.map(({ handle }) => handle);
    await this.#withinBound(Promise.all([this.#tries.giveBack(), ...held.map((handle) => handle.release())]));
    this.#tries.end();
  }

  end(): void {
    this.#controller.unlink();
    for (const unwatch of this.#unwatch.splice(0)) unwatch();
  }

  /**
   * Requests the first lock and tries the others. If the first request has to wait, or its outcome is unknown, gives
   * the others back.
   */
  async #begin(first: Part): Promise<void> {
    // The tries do not follow the caller's signal, so they must not be sent after an abort.
    this.#limits.signal?.throwIfAborted();
    const giveUp = (): void => void this.#tries.giveBack();
    const acquired = this.#acquire(first, { onQueued: giveUp, onTrouble: giveUp });
    this.#tries.send();
    this.#take({ part: first, handle: await acquired });
  }

  /** Keeps the locks whose tries were granted, up to the first try that was not granted. */
  async #keepEarly(): Promise<void> {
    if (this.#tries.areGivenUp) {
      // A try without an answer, or a late release, could make the next request for the same lock wait. So the round
      // first waits for the end of the tries and of the releases.
      await this.#withinBound(this.#tries.giveBack());
      return;
    }
    const { signal } = this.#controller;
    await within(this.#requester.context.clock, this.#remainingMs, this.#tries.ended(), signal);
    signal.throwIfAborted();
    const missing = this.#tries.firstNotGranted;
    for (const taken of this.#tries.keep()) this.#take(taken);
    if (missing !== undefined && missing.end === undefined) throw this.#unanswered(missing.part);
  }

  async #acquire(part: Part, hooks?: { onQueued: () => void; onTrouble: () => void }): Promise<LockHandle> {
    const remainingMs = this.#remainingMs;
    const { timeoutMs } = this.#limits;
    // With a timeout of 0 the acquire would be a try, which waits for a silent store although the time is up.
    if (remainingMs === 0 && timeoutMs > 0) throw new AcquireTimeoutError(part.name, { waitedMs: timeoutMs });
    const options = { ...this.#options, signal: this.#controller.signal, timeoutMs: remainingMs };
    return await this.#requester.acquire({ ...part.target(), ...hooks }, options);
  }

  /**
   * Adds a lock to the round. If the lock is lost, the round ends. The round learns of the loss by `onEnded`, so that
   * no signal has to be made for the handle. `end` removes the callback.
   */
  #take(taken: Taken): void {
    const { handle } = taken;
    this.#taken.push(taken);
    if (!(handle instanceof LeaseHandle)) return;
    const unwatch = handle.onEnded(() => {
      this.#controller.abort(lossOfHandle(handle));
    });
    this.#unwatch.push(unwatch);
  }

  get #remainingMs(): number {
    const { startedMs, timeoutMs } = this.#limits;
    return Math.max(0, startedMs + timeoutMs - this.#requester.context.clock.nowMs());
  }

  /** Reports that the time was up before the try of this lock was answered. Returns the error. */
  #unanswered(part: Part): AcquireTimeoutError {
    const { clock, collection, report } = this.#requester.context;
    const waitedMs = clock.nowMs() - this.#limits.startedMs;
    const { name, rules } = part.target();
    report('timeout', { lockName: name, kind: rules.kind, id: newAttemptId(clock), waitedMs });
    return new AcquireTimeoutError(name, { waitedMs, cause: collection.unanswered() });
  }

  /**
   * Waits for releases for at most `GIVE_BACK_MS`, minus the time by which the call is late. A try (`timeoutMs` 0) is
   * never late.
   */
  async #withinBound(released: Promise<unknown>): Promise<void> {
    const { clock } = this.#requester.context;
    const { startedMs, timeoutMs } = this.#limits;
    const lateMs = timeoutMs === 0 ? 0 : Math.max(0, clock.nowMs() - startedMs - timeoutMs);
    await within(clock, Math.max(0, GIVE_BACK_MS - lateMs), released);
  }
}

/** Compares the code units of the names. All callers use this order, so they never wait for each other in a circle. */
const byName = (a: Part, b: Part): number => (a.name < b.name ? -1 : 1);

function composite<R extends readonly LockRequest[]>(
  parts: readonly Part[],
  taken: readonly Taken[],
): CompositeHandle<R> {
  const handleOf = new Map(taken.map(({ part, handle }) => [part, handle]));
  const handles = parts.map((part) => handleOf.get(part));
  return new CompositeLeaseHandle<R>(
    // Each handle has the type that follows from its request, which the compiler cannot see.
    handles as unknown as CompositeHandle<R>['handles'],
    taken.map(({ handle }) => handle),
  );
}

function lossOfHandle(handle: LockHandle): unknown {
  try {
    handle.assertHeld();
    return undefined;
  } catch (error) {
    return error;
  }
}
