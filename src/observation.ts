import type { Clock } from './clock.js';
import { diagnostics, hasSubscribers } from './diagnostics.js';
import { AcquireTimeoutError } from './errors.js';
import type { LossCause } from './errors.js';
import type {
  AcquireResult,
  HoldEnd,
  ObservedAcquire,
  ObservedExtension,
  ObservedHold,
  ObservedLock,
  ObservedLoss,
  ObservedRun,
  ObservedTerm,
  Observer,
  RunScope,
} from './observer.js';
import { ProviderParts } from './provider-parts.js';
import { TelemetryFailures } from './warnings.js';

/** A call of acquire that has failed. */
interface FailedCall {
  /** Whether the call was a `tryAcquire`, or had a `timeoutMs` of 0. */
  readonly isTry: boolean;
  readonly signal: AbortSignal | undefined;
  readonly durationMs: number;
}

/** The hold of a granted call. */
interface GrantedHold {
  readonly token: number;
  checkEnd(): LossCause | undefined;
}

/** A seat that its process may pass from one caller to the next. */
interface PassedSeat {
  /** The number of holds that the seat has had, the present one included. */
  readonly uses: number;
}

export const holdEndOf = (why: LossCause): HoldEnd => {
  if (why === 'released') return 'release';
  return why === 'provider-closed' ? 'closing' : 'loss';
};

/**
 * Tells the observers of one provider, and the subscribers of the diagnostics channels, what the provider does. The
 * core asks `isOn` (for extensions, `hearsExtensions`) before it makes an object for observers, so that an unobserved
 * provider makes none.
 */
export class Observation {
  #observers: readonly Observer[] = [];
  /** The acquire of each granted hold that its caller does not have yet. */
  readonly #granted = new WeakMap<object, ObservedAcquire>();
  /** The holds that were observed from their beginning. The key is the hold itself. */
  readonly #holds = new Map<object, ObservedHold>();
  /** The last observed use of each seat that this process may pass from one caller to the next. */
  readonly #usesOfSeats = new WeakMap<PassedSeat, { readonly use: number; readonly traceparent: string }>();
  readonly #failures = new TelemetryFailures();
  readonly #isOfStore: boolean;

  /**
   * @param isOfStore - Whether the engine works for one store of a quorum. Then observers hear only of the engine's
   *   extensions, because the quorum tells them of requests and holds.
   */
  constructor(isOfStore = false) {
    this.#isOfStore = isOfStore;
  }

  /** Whether observers or subscribers hear of requests and holds. */
  get isOn(): boolean {
    return !this.#isOfStore && (this.#observers.length > 0 || hasSubscribers());
  }

  get hearsExtensions(): boolean {
    return this.#observers.length > 0;
  }

  /**
   * Whether requests store the trace context of their holds, and the transitions of this provider copy it into the
   * leases and, at a departure, into `wake`.
   */
  get keepsTraces(): boolean {
    return !this.#isOfStore && this.#observers.length > 0;
  }

  /** Adds an observer. Returns a function that removes it. */
  add(observer: Observer): () => void {
    this.#observers = [...this.#observers, observer];
    return () => {
      this.#observers = this.#observers.filter((each) => each !== observer);
    };
  }

  acquireStarted(lock: ObservedLock): ObservedAcquire {
    const { lockName, kind, mode } = lock;
    const acquire: ObservedAcquire = {
      ...{ lockName, kind, mode, traceparent: undefined, queuePlace: undefined, heardBy: undefined },
      ...{ handoverMs: undefined, handedBy: [], result: undefined, error: undefined },
      ...{ fencingToken: undefined, durationMs: undefined },
    };
    this.#tell((observer) => observer.acquireStarted?.(acquire));
    return acquire;
  }

  /**
   * Called when the call has its grant. The caller may get its hold later, or never.
   *
   * @param passedSeat - The seat of the hold, if the process may pass it from one caller to the next.
   */
  acquireGranted(
    acquire: ObservedAcquire,
    hold: GrantedHold,
    durationMs: number,
    passedSeat?: PassedSeat,
  ): void {
    if (passedSeat !== undefined) this.#noteUse(passedSeat, acquire);
    Object.assign(acquire, { result: 'granted', fencingToken: hold.token, durationMs } as const);
    this.#tell((observer) => observer.acquireEnded?.(acquire));
    const why = hold.checkEnd();
    if (why === undefined) this.#granted.set(hold, acquire);
    else this.#tell((observer) => observer.holdMissed?.(acquire, why));
  }

  /** Called when a call of acquire has failed. Does nothing if `acquireGranted` was called before. */
  acquireFailed(acquire: ObservedAcquire, error: unknown, call: FailedCall): void {
    if (acquire.result !== undefined) return;
    Object.assign(acquire, { result: resultOf(error, call), error, durationMs: call.durationMs });
    this.#tell((observer) => observer.acquireEnded?.(acquire));
  }

  /** Called when the caller gets its hold. No effect if the hold is over: then observers hear `holdMissed` instead. */
  holdStarted(hold: GrantedHold, acquire: ObservedAcquire): void {
    if (hold.checkEnd() !== undefined) return;
    const { lockName, kind, mode } = acquire;
    const observed: ObservedHold = {
      ...{ lockName, kind, mode, acquire, fencingToken: hold.token },
      ...{ endedBy: undefined, why: undefined, durationMs: undefined },
    };
    this.#granted.delete(hold);
    this.#holds.set(hold, observed);
    this.#tell((observer) => observer.holdStarted?.(observed));
  }

  /**
   * Called when the owner has released the hold, before the release is sent. If the release sends nothing, or the
   * handle was garbage-collected, only `holdEnded` is called.
   */
  holdReleasing(hold: object): void {
    const observed = this.#holds.get(hold);
    if (observed !== undefined) this.#tell((observer) => observer.holdReleasing?.(observed));
  }

  /**
   * Called once at the end of each hold. Observers hear `holdEnded` if the hold was observed from its beginning, and
   * `holdMissed` if its caller did not have the hold yet. They hear `lost` after every end other than a release.
   */
  holdEnded(
    hold: {
      readonly event: Pick<ObservedLoss, 'lockName' | 'kind' | 'fencingToken'>;
      readonly heldMs: number;
    },
    why: LossCause,
  ): void {
    const observed = this.#holds.get(hold);
    const granted = this.#granted.get(hold);
    if (granted !== undefined) {
      this.#granted.delete(hold);
      this.#tell((observer) => observer.holdMissed?.(granted, why));
    }
    if (observed === undefined && !this.isOn) return;
    const { event, heldMs } = hold;
    if (observed !== undefined) {
      this.#holds.delete(hold);
      Object.assign(observed, { why, endedBy: holdEndOf(why), durationMs: heldMs });
      this.#tell((observer) => observer.holdEnded?.(observed));
    }
    if (why === 'released') return;
    const { lockName, kind, fencingToken } = event;
    const loss: ObservedLoss = { lockName, kind, fencingToken, heldMs, why };
    this.#tell((observer) => observer.lost?.(loss));
  }

  extended(extension: ObservedExtension): void {
    this.#tell((observer) => observer.extended?.(extension));
  }

  termStarted(term: Omit<ObservedTerm, 'endedBy'>): ObservedTerm {
    const observed: ObservedTerm = { ...term, endedBy: undefined };
    this.#tell((observer) => observer.termStarted?.(observed));
    return observed;
  }

  termEnded(term: ObservedTerm, endedBy: HoldEnd): void {
    term.endedBy = endedBy;
    this.#tell((observer) => observer.termEnded?.(term));
  }

  runStarted(run: ObservedRun): RunScope {
    const scopes: RunScope[] = [];
    this.#tell((observer) => {
      const scope = observer.runStarted?.(run);
      if (scope !== undefined) scopes.push(scope);
    });
    return {
      within: (work) => scopes.reduceRight((inner, scope) => () => this.#within(scope, inner), work)(),
      ended: (error) => {
        for (const scope of scopes)
          this.#guard(() => {
            scope.ended(error);
          });
      },
    };
  }

  /**
   * The store knows only the first hold of a kept seat. For each later hold, the process itself notes which hold came
   * before it (`handedBy`).
   */
  #noteUse(seat: PassedSeat, acquire: ObservedAcquire): void {
    const { uses: use } = seat;
    const before = this.#usesOfSeats.get(seat);
    if (before?.use === use - 1) acquire.handedBy = [before.traceparent];
    const { traceparent } = acquire;
    if (traceparent !== undefined) this.#usesOfSeats.set(seat, { use, traceparent });
  }

  #tell(call: (observer: Observer) => void): void {
    for (const observer of [...this.#observers, diagnostics])
      this.#guard(() => {
        call(observer);
      });
  }

  /** Calls `work` even if the scope throws before the scope has called it. */
  #within<T>(scope: RunScope, work: () => T): T {
    const call = { isMade: false };
    try {
      return scope.within(() => {
        call.isMade = true;
        return work();
      });
    } catch (error) {
      if (call.isMade) throw error;
      this.#failures.report(error);
      return work();
    }
  }

  /** Telemetry must not break a lock: an error causes only a process warning, at most one a minute. */
  #guard(tell: () => void): void {
    try {
      tell();
    } catch (error) {
      this.#failures.report(error);
    }
  }
}

function resultOf(error: unknown, { isTry, signal }: FailedCall): AcquireResult {
  if (error instanceof AcquireTimeoutError) return isTry ? 'busy' : 'timeout';
  return signal?.aborted === true && error === signal.reason ? 'aborted' : 'error';
}

/** The part of a provider that telemetry works with. */
export interface Observable {
  readonly clock: Clock;
  /** Adds an observer. Returns a function that removes it. */
  observe(observer: Observer): () => void;
  /** How many change streams are open; the stream of a dashboard is not counted. */
  streams(): number;
}

const observables = new ProviderParts<Observable>('a LockProvider or QuorumLockProvider');

export function keepObservable(provider: object, observable: Observable): void {
  observables.keep(provider, observable);
}

/** @throws `TypeError` if `locks` is no provider of this copy of the library. */
export const observableOf = (locks: object): Observable => observables.of(locks);
