import { getEventListeners } from 'node:events';

/** What is known of the listeners of one signal. */
interface Watch {
  /** How many own keys the signal had when it was made. A further key means that a signal has been derived from it. */
  readonly ownKeys: number;
  /** How many listeners are the library's own (`followSilently`). */
  uncounted: number;
  isHeard: boolean;
  isCheckDue: boolean;
  readonly changed: (isHeard: boolean) => void;
}

/** Keyed weakly: while a signal is reachable, so is everything that its `changed` refers to. */
const watches = new WeakMap<AbortSignal, Watch>();

/**
 * The prototype of the watched signals. Nearly every way of listening calls one of its two methods: `addEventListener`
 * itself, `onabort =`, and code that takes a signal (`fetch`, streams, timers, child processes, the driver).
 * `AbortSignal.any` is the exception: it reads `aborted` and then adds a field to the signal, so reading `aborted`
 * schedules a check. Node 24 adds the field when code begins to listen to the derived signal, Node 20 and 22 at once.
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
 * While the signal is reachable, so is everything that `changed` refers to; the reverse does not hold.
 *
 * A signal from which another one has been derived counts as heard for ever. So does every signal on a runtime that
 * does not show what this module relies on.
 */
export function heardController(changed: (isHeard: boolean) => void): AbortController {
  const controller = watched(changed);
  if (!canDetectListeners) changed(true);
  return controller;
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
 * Aborts the controller when the signal aborts. The listener for that does not make the signal heard, and keeps neither
 * signal nor controller alive.
 */
export function followSilently(signal: AbortSignal, controller: AbortController): void {
  const follower = new WeakRef(controller);
  const watch = watches.get(signal);
  if (watch !== undefined) watch.uncounted += 1;
  const onAbort = (): void => follower.deref()?.abort(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
}

/** Whether this runtime shows each way of listening; tried once, when the module is loaded. */
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
    // Run the check now that `AbortSignal.any` has scheduled as a microtask.
    if (watches.get(signal)?.isCheckDue === true) check(signal);
    return seen.isHeard;
  });
}
