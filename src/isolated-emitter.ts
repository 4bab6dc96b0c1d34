import { inspect } from 'node:util';
import { EventEmitter } from 'eventemitter3';
import { portrait } from './portrait.js';
import { UnheardFailures, warnOfListener } from './warnings.js';
import type { FailureWarnings } from './warnings.js';

type Listener<Events extends object, E extends EventEmitter.EventNames<Events>> = EventEmitter.EventListener<
  Events,
  E
>;

type AnyListener = (this: unknown, ...args: unknown[]) => unknown;

/**
 * An EventEmitter whose listeners cannot harm each other or the emitter. eventemitter3 calls listeners in a plain loop,
 * so a listener that throws would stop the other listeners and the code that emits. Here the error of a listener
 * becomes a process warning. Some events that report failures, such as `lost`, also become a process warning if they
 * have no listener: at most one a minute for each event, and none for an expected failure. The events of a closed
 * provider cause no such warning. The durations in events are rounded down to whole milliseconds.
 */
export class IsolatedEmitter<Events extends object> extends EventEmitter<Events> {
  // The wrapper of each listener for each event, so that `off` finds what `on` registered.
  readonly #isolated = new WeakMap<AnyListener, Map<unknown, AnyListener>>();
  readonly #wrappers = new WeakSet<AnyListener>();
  readonly #unheard: UnheardFailures<Events>;
  #isRetired = false;

  /**
   * @internal @param warnings - The events that report failures, and the process warning for each of them if it has no
   *   listener.
   */
  constructor(warnings: FailureWarnings<Events> = {}) {
    super();
    this.#unheard = new UnheardFailures(warnings);
  }

  /** The present state in plain facts, for logs. Sends nothing. */
  toJSON(): object {
    return {};
  }

  /** @internal Makes `util.inspect` show the facts of `toJSON`, under the name of the class. */
  [inspect.custom](): object {
    return portrait(this.constructor.name, this.toJSON());
  }

  /** Calls the listeners of the event. @returns Whether the event had a listener. */
  override emit<E extends EventEmitter.EventNames<Events>>(
    event: E,
    ...payload: EventEmitter.EventArgs<Events, E>
  ): boolean {
    const told = (payload as readonly unknown[]).map(inWholeMs);
    if (super.emit(event, ...(told as EventEmitter.EventArgs<Events, E>))) return true;
    if (!this.#isRetired) this.#unheard.report(event, told);
    return false;
  }

  /** @internal Removes all listeners. From then on, a failure without a listener causes no warning. */
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

  /** Same as `on`. */
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

  /** Removes a listener, or all listeners of the event if `fn` is not given. */
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
    // eventemitter3 removes a one-time listener by calling `removeListener` with the function that it stored: the
    // wrapper.
    if (this.#wrappers.has(listener)) return fn;
    const ofListener = this.#isolated.get(listener) ?? new Map<unknown, AnyListener>();
    this.#isolated.set(listener, ofListener);
    let isolated = ofListener.get(event);
    if (isolated === undefined) {
      isolated = isolate(String(event), listener);
      ofListener.set(event, isolated);
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

/**
 * Rounds the duration in an event down, so that the event never promises more time than the hold has. Returns any other
 * payload, such as a handle or an error, unchanged.
 */
function inWholeMs(payload: unknown): unknown {
  if (typeof payload !== 'object' || payload === null) return payload;
  if (Object.getPrototypeOf(payload) !== Object.prototype) return payload;
  const event = payload as Readonly<Record<string, unknown>>;
  const duration = DURATIONS.find((name) => typeof event[name] === 'number');
  return duration === undefined ? payload : { ...event, [duration]: Math.floor(event[duration] as number) };
}
