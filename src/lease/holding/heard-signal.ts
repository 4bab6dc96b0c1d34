import { getEventListeners } from 'node:events';

interface Watch {
  /** How many own keys the signal had when it was made. `AbortSignal.any` of the signal adds a key to it. */
  readonly ownKeys: number;
  /** How many listeners `followSilently` has added. They do not make the signal heard. */
  uncounted: number;
  isHeard: boolean;
  isCheckDue: boolean;
  readonly changed: (isHeard: boolean) => void;
}

/** A weak map keeps no signal alive. A reachable signal keeps alive what its `changed` refers to. */
const watches = new WeakMap<AbortSignal, Watch>();

/**
 * The prototype of the watched signals, which notices nearly every way of listening. Most ways call `addEventListener`
 * and `removeEventListener`: direct calls, `onabort =`, and code that is given the signal (`fetch`, streams, timers,
 * child processes, the driver).
 *
 * `AbortSignal.any` calls neither method. It reads `aborted` and then adds a field to the signal, so a read of
 * `aborted` schedules a check. Node 20 and 22 add the field at once; Node 24 adds it when code begins to listen to the
 * derived signal.
 */
class HeardSignal extends AbortSignal {
  override get aborted(): boolean {
    checkLater(this);
    return super.aborted;
  }

  override addEventListener(...given: Parameters<AbortSignal['addEventListener']>): void {
    super.addEventListener(...given);
    check(this);
  }

  override removeEventListener(...given: Parameters<AbortSignal['removeEventListener']>): void {
    super.removeEventListener(...given);
    check(this);
  }
}

function check(signal: AbortSignal): void {
  const watch = watches.get(signal);
  if (watch === undefined) return;
  const isDerivedFrom = Reflect.ownKeys(signal).length > watch.ownKeys;
  const isHeard = isDerivedFrom || getEventListeners(signal, 'abort').length > watch.uncounted;
  if (isHeard === watch.isHeard) return;
  watch.isHeard = isHeard;
  watch.changed(isHeard);
}

function checkLater(signal: AbortSignal): void {
  const watch = watches.get(signal);
  if (watch === undefined || watch.isCheckDue) return;
  watch.isCheckDue = true;
  // The microtask refers to the signal, so the signal is not collected before the check.
  queueMicrotask(() => {
    watch.isCheckDue = false;
    check(signal);
  });
}

/**
 * Makes a controller that calls `changed` when code begins to listen to its signal, and when no code listens any more.
 * While the signal is reachable, so is everything that `changed` refers to. Once `AbortSignal.any` has added its field
 * to the signal, the signal counts as heard for ever.
 *
 * If `canDetectListeners` is false, `changed` is called at once instead, and the signal does not refer to `changed`:
 * every signal counts as heard from the beginning and for ever.
 */
export function heardController(changed: (isHeard: boolean) => void): AbortController {
  if (canDetectListeners) return watched(changed);
  changed(true);
  return new AbortController();
}

function watched(changed: (isHeard: boolean) => void): AbortController {
  const controller = new AbortController();
  const { signal } = controller;
  Object.setPrototypeOf(signal, HeardSignal.prototype);
  const ownKeys = Reflect.ownKeys(signal).length;
  watches.set(signal, { ownKeys, uncounted: 0, isHeard: false, isCheckDue: false, changed });
  return controller;
}

/**
 * Aborts the controller when the signal aborts. Adds a listener that is not counted: if the signal has no other
 * listener, `isHeard` stays false. The listener keeps neither the signal nor the controller alive.
 */
export function followSilently(signal: AbortSignal, controller: AbortController): void {
  const follower = new WeakRef(controller);
  const watch = watches.get(signal);
  if (watch !== undefined) watch.uncounted += 1;
  const onAbort = (): void => follower.deref()?.abort(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
}

/** Whether `HeardSignal` notices these three ways of listening in this runtime. Tried once, at the module's load. */
const canDetectListeners: boolean = isHeardBy(
  (signal) => {
    signal.addEventListener('abort', () => undefined);
  },
  (signal) => {
    signal.onabort = () => undefined;
  },
  (signal) => {
    AbortSignal.any([signal]).addEventListener('abort', () => undefined);
  },
);

function isHeardBy(...ways: readonly ((signal: AbortSignal) => void)[]): boolean {
  return ways.every((listen) => {
    const seen = { isHeard: false };
    const { signal } = watched((isHeard) => (seen.isHeard = isHeard));
    listen(signal);
    // `AbortSignal.any` has scheduled the check as a microtask. Make the check now.
    if (watches.get(signal)?.isCheckDue === true) check(signal);
    return seen.isHeard;
  });
}
