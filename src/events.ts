import { inspect } from 'node:util';
import { EventEmitter } from 'eventemitter3';
import { quoted } from './errors.js';
import type { LossCause } from './errors.js';
import type { Wakeups } from './options/provider-options.js';
import type { LockKind, Mode } from './protocol/lock-document.js';
import { portrait } from './portrait.js';
import { UnheardFailures, brief, isOfClosedClient, warnOfListener } from './warnings.js';
import type { Saying, Sayings } from './warnings.js';

/** What every event about one attempt or hold carries. */
export interface AttemptEvent {
  /** The name of the lock. */
  readonly lockName: string;
  /** What it is used as. */
  readonly kind: LockKind;
  /** The attempt id: the same from the queue to the release. */
  readonly id: string;
}

/** The request has been queued, or queued again after its place lapsed. */
export interface WaitingEvent extends AttemptEvent {
  /** 0 for the head of the queue. */
  readonly place: number;
}

/** The lock was granted. */
export interface AcquiredEvent extends AttemptEvent {
  /** The token of the hold. */
  readonly fencingToken: number;
  /** From the call to the grant, in ms. */
  readonly waitedMs: number;
}

/** The hold has been extended. */
export interface ExtendedEvent extends AttemptEvent {
  /** The token of the hold. */
  readonly fencingToken: number;
  /** How long it can be relied on from now, in ms. */
  readonly remainingMs: number;
}

/** The hold was released by its owner. `confirmed` false: the store has not answered, the background goes on. */
export interface ReleasedEvent extends AttemptEvent {
  /** The token of the hold. */
  readonly fencingToken: number;
  /** From the grant to the release, in ms. */
  readonly heldMs: number;
  /** Whether the store has confirmed it, or need not: a seat that is kept is passed on without it. */
  readonly confirmed: boolean;
}

/** The hold was lost. */
export interface LostEvent extends AttemptEvent {
  /** The token of the hold. */
  readonly fencingToken: number;
  /** From the grant to the loss, in ms. */
  readonly heldMs: number;
  /** Which way it was lost. */
  readonly why: LossCause;
}

/** A handle was garbage-collected without a release; its lock has been given back. */
export interface AbandonedEvent extends AttemptEvent {
  /** The token of the hold. */
  readonly fencingToken: number;
  /** From the grant to the garbage collection, in ms. */
  readonly heldMs: number;
}

/** A request ran out of time. */
export interface TimeoutEvent extends AttemptEvent {
  /** From the call to its end, in ms. */
  readonly waitedMs: number;
}

/** The mode of a hold of a reader-writer lock has changed. */
export interface ModeChangedEvent extends AttemptEvent {
  /** The token of the hold from now on. */
  readonly fencingToken: number;
  /** How the lock is held from now on. */
  readonly mode: Mode;
  /** How it was held before. */
  readonly previousMode: Mode;
}

/** Somebody asked the holder to release. */
export interface ReleaseRequestedEvent extends AttemptEvent {
  /** The token of the hold. */
  readonly fencingToken: number;
  /** The label and the process id of the provider that revoked it; `undefined` if its own provider closes. */
  readonly by?: string | undefined;
  /** What the revocation was for, if it said so. */
  readonly why?: string | undefined;
}

/** How waiters are woken has been decided, or has changed. */
export interface WakeupsEvent {
  /** The way in use from now on. */
  readonly mode: Wakeups;
  /** What decided it. */
  readonly why: string;
}

/** A command to the store failed or was not answered; the library goes on by itself. */
export interface StoreErrorEvent {
  /** The lock concerned; `null` where it is not one lock. */
  readonly lockName: string | null;
  /** What was being done: `transition`, `extension`, `read`, `stream`. */
  readonly during: string;
  /** What the driver or the server said. */
  readonly error: unknown;
}

/** The index for purging could not be made. Locks work without it; unused documents stay. */
export interface IndexErrorEvent {
  /** What the driver or the server said. */
  readonly error: unknown;
}

/** The events of a provider: one typed payload each. */
export interface LockProviderEvents {
  /** A request was queued. */
  waiting: [WaitingEvent];
  /** A lock was granted. */
  acquired: [AcquiredEvent];
  /** A hold of a reader-writer lock was upgraded or downgraded. */
  modeChanged: [ModeChangedEvent];
  /** A hold was extended. */
  extended: [ExtendedEvent];
  /** A hold was released by its owner. */
  released: [ReleasedEvent];
  /** A hold was lost. */
  lost: [LostEvent];
  /** A forgotten handle was found; its lock is given back. */
  abandoned: [AbandonedEvent];
  /** A request that waited ran out of time. */
  timeout: [TimeoutEvent];
  /** Somebody asked a holder to release. */
  releaseRequested: [ReleaseRequestedEvent];
  /** How waiters are woken was decided, or has changed. */
  wakeups: [WakeupsEvent];
  /** A command failed or was not answered. */
  storeError: [StoreErrorEvent];
  /** The index for purging could not be made. */
  indexError: [IndexErrorEvent];
}

/** The failures that a provider tells, as warnings. */
export const PROVIDER_SAYINGS: {
  readonly lost: Saying<[LostEvent]>;
  readonly storeError: Saying<[StoreErrorEvent]>;
} = {
  lost: {
    code: 'LEASEHOLD_LOST',
    say: ({ lockName, why, heldMs, fencingToken }) =>
      // The application closed the provider while it held the lock.
      why === 'provider-closed'
        ? null
        : `Lock ${quoted(lockName)} was lost (${why}) ${String(heldMs)} ms after its grant with token ${String(fencingToken)}`,
  },
  storeError: {
    code: 'LEASEHOLD_STORE_ERROR',
    say: ({ lockName, during, error }) => {
      // Nobody waits for these alone, and a program may end its client before the provider.
      if ((during === 'stream' || during === 'index') && isOfClosedClient(error)) return null;
      const about = lockName === null ? '' : ` of lock ${quoted(lockName)}`;
      return `The store failed or did not answer during ${during}${about}: ${brief(error)}`;
    },
  },
};

/** How the parts of the library report: {@link IsolatedEmitter.emit} of the provider. */
export type Report = <E extends keyof LockProviderEvents>(
  event: E,
  ...payload: LockProviderEvents[E]
) => void;

type Listener<Events extends object, E extends EventEmitter.EventNames<Events>> = EventEmitter.EventListener<
  Events,
  E
>;

type AnyListener = (this: unknown, ...args: unknown[]) => unknown;

/**
 * An EventEmitter whose listeners can harm neither each other nor the emitter: eventemitter3 calls them in a plain
 * loop, so one that throws would stop the others and the code that emitted. Here it ends as a process warning. So does a
 * failure that nobody listens for. Durations are told in whole milliseconds.
 */
export class IsolatedEmitter<Events extends object> extends EventEmitter<Events> {
  // One wrapper per listener, so that `off` finds what `on` registered. It passes on the `this` it is called with.
  readonly #isolated = new WeakMap<AnyListener, AnyListener>();
  readonly #wrappers = new WeakSet<AnyListener>();
  readonly #unheard: UnheardFailures<Events>;
  #isRetired = false;

  /** @internal @param sayings - The events that tell failures, and how each is said if nobody listens for it. */
  constructor(sayings: Sayings<Events> = {}) {
    super();
    this.#unheard = new UnheardFailures(sayings);
  }

  /** What it is at this instant, in plain facts, for logs. Sends nothing. */
  toJSON(): object {
    return {};
  }

  /** @internal Printed as these facts, under the name of its class. */
  [inspect.custom](): object {
    return portrait(this.constructor.name, this.toJSON());
  }

  /** Calls the listeners of the event. @returns Whether there were any. */
  override emit<E extends EventEmitter.EventNames<Events>>(
    event: E,
    ...payload: EventEmitter.EventArgs<Events, E>
  ): boolean {
    const told = (payload as readonly unknown[]).map(inWholeMs);
    if (super.emit(event, ...(told as EventEmitter.EventArgs<Events, E>))) return true;
    if (!this.#isRetired) this.#unheard.tell(event, told);
    return false;
  }

  /** @internal Takes off all listeners for good. What fails from now on is no warning: nobody could have listened. */
  protected retire(): void {
    this.#isRetired = true;
    this.removeAllListeners();
  }

  override on<E extends EventEmitter.EventNames<Events>>(
    event: E,
    fn: Listener<Events, E>,
    context?: unknown,
  ): this {
    return super.on(event, this.#isolate(event, fn), context);
  }

  /** `on`. */
  override addListener<E extends EventEmitter.EventNames<Events>>(
    event: E,
    fn: Listener<Events, E>,
    context?: unknown,
  ): this {
    return this.on(event, fn, context);
  }

  override once<E extends EventEmitter.EventNames<Events>>(
    event: E,
    fn: Listener<Events, E>,
    context?: unknown,
  ): this {
    return super.once(event, this.#isolate(event, fn), context);
  }

  /** Takes a listener off; without one, all of the event. */
  override off<E extends EventEmitter.EventNames<Events>>(
    event: E,
    fn?: Listener<Events, E>,
    context?: unknown,
    once?: boolean,
  ): this {
    return super.off(event, fn && this.#isolate(event, fn), context, once);
  }

  override removeListener<E extends EventEmitter.EventNames<Events>>(
    event: E,
    fn?: Listener<Events, E>,
    context?: unknown,
    once?: boolean,
  ): this {
    return this.off(event, fn, context, once);
  }

  #isolate<E extends EventEmitter.EventNames<Events>>(
    event: E,
    fn: Listener<Events, E>,
  ): Listener<Events, E> {
    const listener = fn as AnyListener;
    // eventemitter3 takes a listener for one call off by what it registered, the wrapper.
    if (this.#wrappers.has(listener)) return fn;
    let isolated = this.#isolated.get(listener);
    if (isolated === undefined) {
      isolated = isolate(String(event), listener);
      this.#isolated.set(listener, isolated);
      this.#wrappers.add(isolated);
    }
    return isolated as Listener<Events, E>;
  }
}

function isolate(event: string, listener: AnyListener): AnyListener {
  const onFailure = (error: unknown): void => {
    warnOfListener(event, error);
  };
  return function (...args) {
    try {
      const returned = listener.apply(this, args);
      if (returned instanceof Promise) returned.catch(onFailure);
    } catch (error) {
      onFailure(error);
    }
  };
}

const DURATIONS = ['waitedMs', 'heldMs', 'remainingMs', 'tookMs'] as const;

/** Rounded down: a hold can be relied on for no longer than it says. Handles and errors are passed on as they are. */
function inWholeMs(payload: unknown): unknown {
  if (typeof payload !== 'object' || payload === null) return payload;
  if (Object.getPrototypeOf(payload) !== Object.prototype) return payload;
  const event = payload as Readonly<Record<string, unknown>>;
  const duration = DURATIONS.find((name) => typeof event[name] === 'number');
  return duration === undefined ? payload : { ...event, [duration]: Math.floor(event[duration] as number) };
}
