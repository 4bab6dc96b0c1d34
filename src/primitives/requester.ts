// Folder `primitives`: the locks as users see them. Each lock says what its requests ask for. The folder `lease` does
// the acquiring, waiting and holding, which are the same for all locks.

import { AcquireTimeoutError, ProviderClosedError } from '../errors.js';
import { keepAlive } from '../keep-alive.js';
import { Acquisition } from '../lease/acquiring/acquisition.js';
import type { LeaseContext } from '../lease/acquiring/lease-context.js';
import type { BegunRequest, Wanted } from '../lease/acquiring/begun-request.js';
import type { Hold } from '../lease/holding/hold.js';
import type { Holds } from '../lease/holding/holds.js';
import type { LockHandle } from '../lease/holding/lock-handle.js';
import type { Seat } from '../lease/holding/seat.js';
import type { SeatCache } from '../lease/seat-cache/seat-cache.js';
import type { ObservedAcquire } from '../observer.js';
import type { LeaseDurations } from '../options/provider-options.js';
import { NOT_KEPT, parseAcquireOptions } from '../options/request-options.js';
import type { AcquireOptions, ParsedKeeping, WaitingCall } from '../options/request-options.js';
import type { Reply } from '../protocol/replies/reply.js';
import type { LockSnapshot } from '../protocol/replies/snapshot.js';
import { askWithinChain, heldByChain, useLock } from './call-chain.js';
import { TurnLimit } from './turn-limit.js';

/** One lock, and how a primitive requests it. */
export interface Target<H extends LockHandle> extends Wanted {
  readonly durations: LeaseDurations;
  /** Default: released seats are not kept. */
  readonly keeping?: ParsedKeeping;
  makeHandle(hold: Hold, holds: Holds, context: LeaseContext): H;
  /**
   * Whether only the caller itself could end the wait, because its own chain of calls has the holds `held`. Default:
   * true.
   */
  isHopeless?(held: readonly LockHandle[]): boolean;
}

/** A grant without a handle. No event reports the grant until it is claimed. */
export interface Unclaimed<H extends LockHandle> {
  readonly isHeld: boolean;
  /** Reports the grant and makes the handle. Called at most once. */
  claim(): H;
}

type Granted<T> = (hold: Hold, waitedMs: number, observed: ObservedAcquire | undefined) => T;

/**
 * The part that all primitives share: checks options, acquires, turns a timeout into `null`, and runs work under a
 * lock.
 */
export class Requester {
  readonly #context: LeaseContext;
  readonly #holds: Holds;
  readonly #seatCache: SeatCache;
  readonly #onGrant: () => void;
  readonly #inspect: (name: string) => Promise<LockSnapshot | null>;
  readonly #turnLimit: TurnLimit;
  #waiting = 0;

  constructor(
    context: LeaseContext,
    holds: Holds,
    seatCache: SeatCache,
    onGrant: () => void,
    inspect: (name: string) => Promise<LockSnapshot | null>,
  ) {
    this.#context = context;
    this.#holds = holds;
    this.#seatCache = seatCache;
    this.#onGrant = onGrant;
    this.#inspect = inspect;
    this.#turnLimit = new TurnLimit(context.clock);
  }

  /** How many requests have neither been granted nor failed yet. */
  get waiting(): number {
    return this.#waiting;
  }

  get context(): LeaseContext {
    return this.#context;
  }

  acquire<H extends LockHandle>(target: Target<H>, options: AcquireOptions | undefined): Promise<H> {
    return keepAlive(this.#acquire(target, options, 'acquire', this.#claiming(target)));
  }

  /**
   * Makes one try. If it is granted, the caller of this method must call `claim()` of the result, unless the hold has
   * ended: only the handle can release the hold.
   */
  tryUnclaimed<H extends LockHandle>(
    target: Target<H>,
    options: AcquireOptions | undefined,
  ): Promise<Unclaimed<H>> {
    const claiming = this.#claiming(target);
    const unclaimed: Granted<Unclaimed<H>> = (hold, waitedMs, observed) => ({
      get isHeld() {
        return hold.checkEnd() === undefined;
      },
      claim: () => claiming(hold, waitedMs, observed),
    });
    return keepAlive(this.#acquire(target, { ...options, timeoutMs: 0 }, 'tryAcquire', unclaimed));
  }

  #claiming<H extends LockHandle>(target: Target<H>): Granted<H> {
    return (hold, waitedMs, observed) => {
      this.#holds.acquired(hold, waitedMs, observed);
      return target.makeHandle(hold, this.#holds, this.#context);
    };
  }

  async #acquire<T>(
    target: Target<LockHandle>,
    options: AcquireOptions | undefined,
    call: WaitingCall,
    granted: Granted<T>,
  ): Promise<T> {
    const { settings } = this.#context;
    const { name, durations } = target;
    const parsed = parseAcquireOptions(settings, durations, options, call);
    const { clock } = this.#context;
    const startedMs = clock.nowMs();
    const held = (): readonly LockHandle[] => (parsed.timeoutMs === Infinity ? heldByChain(this, name) : []);
    const isHopeless = (): boolean => {
      const own = held();
      return own.length > 0 && (target.isHopeless?.(own) ?? true);
    };
    const { observation } = this.#context;
    const observed = observation.isOn
      ? observation.acquireStarted({ lockName: name, kind: target.rules.kind, mode: target.demand().mode })
      : undefined;
    try {
      return await askWithinChain(name, isHopeless, async (isSingleTry) => {
        const timeoutMs = isSingleTry ? 0 : parsed.timeoutMs;
        const isNestedWithoutBound = held().length > 0;
        this.#waiting += 1;
        try {
          const request = { ...target, ...parsed, timeoutMs, startedMs, isNestedWithoutBound, observed };
          const hold = await this.#hold(request, target.keeping);
          const waitedMs = clock.nowMs() - startedMs;
          if (observed !== undefined)
            observation.acquireGranted(observed, hold, waitedMs, passedSeatOf(hold));
          return granted(hold, waitedMs, observed);
        } finally {
          this.#waiting -= 1;
        }
      });
    } catch (error) {
      if (observed !== undefined) {
        const isTry = call === 'tryAcquire' || parsed.timeoutMs === 0;
        const durationMs = clock.nowMs() - startedMs;
        observation.acquireFailed(observed, error, { isTry, signal: parsed.signal, durationMs });
      }
      throw error;
    } finally {
      // What was granted or has failed stays so. Only the caller is told later.
      const nextTurn = this.#turnLimit.ended();
      if (nextTurn !== undefined) await nextTurn;
    }
  }

  /**
   * Gets a hold through the seat cache, or from the server. Not an async function, because each async function takes up
   * one of the stack frames that `withCallerFrames` adds.
   */
  #hold(request: BegunRequest, keeping = NOT_KEPT): Promise<Hold> {
    const { keepMs } = keeping;
    const lock = this.#seatCache.lock(request.name, request.rules, keepMs);
    if (lock === undefined) return this.#ask(request);
    const ask = (): Promise<Hold> => {
      const sinceMs = this.#context.clock.nowMs();
      const onReply = (reply: Reply): void => {
        request.onReply?.(reply);
        lock.note(reply, sinceMs);
      };
      return this.#ask({ ...request, keeper: keepMs > 0 ? lock : undefined, onReply });
    };
    return lock.acquire({ ...request, demand: request.demand(), ...keeping }, ask);
  }

  async #ask(request: BegunRequest): Promise<Hold> {
    const acquisition = new Acquisition(this.#context, request);
    const grant = await acquisition.run();
    this.#turnLimit.turned();
    // `close` may have been called in the same turn of the event loop as the grant. After `close`, no hold may begin.
    if (this.#context.closing.aborted) {
      acquisition.giveBack();
      throw new ProviderClosedError(request.name);
    }
    this.#onGrant();
    return this.#holds.take(grant, request.keeper);
  }

  tryAcquire<H extends LockHandle>(
    target: Target<H>,
    options: AcquireOptions | undefined,
  ): Promise<H | null> {
    return keepAlive(nullAtTimeout(this.#acquire(target, options, 'tryAcquire', this.#claiming(target))));
  }

  use<L extends LockHandle, T>(acquire: () => Promise<L>, work: (lock: L) => T | Promise<T>): Promise<T> {
    return useLock(this, acquire, work);
  }

  inspect(name: string): Promise<LockSnapshot | null> {
    return this.#inspect(name);
  }
}

/**
 * The seat, if its process may pass it from one caller to the next; else `undefined`. A kept read is not passed: its
 * callers use it at the same time.
 */
const passedSeatOf = ({ seat }: Hold): Seat | undefined =>
  seat.keeper?.sharesToken === false ? seat : undefined;

export async function nullAtTimeout<T>(acquired: Promise<T>): Promise<T | null> {
  try {
    return await acquired;
  } catch (error) {
    if (error instanceof AcquireTimeoutError) return null;
    throw error;
  }
}
