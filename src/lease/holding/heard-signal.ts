import { getEventListeners } from 'node:events';

/** What is known of a signal that tells whether it is heard. */
interface Watch {
  /** Of the signal when it was made. One more: another signal has been derived from it. */
  readonly ownKeys: number;
  /** Listeners that do not count. */
  silent: number;
  isHeard: boolean;
  isCheckDue: boolean;
  readonly changed: (isHeard: boolean) => void;
}

/** Weak by the signal: while it can be reached, so can whatever `changed` refers to. */
const watches = new WeakMap<AbortSignal, Watch>();

/**
 * The prototype of such signals. Every way of listening calls one of these: `addEventListener` itself, `onabort =`, and
 * those to whom a signal is given (`fetch`, streams, timers, child processes, the driver). `AbortSignal.any` registers
 * otherwise: it asks whether the signal has aborted and then leaves a field in it, so a check follows that question. Node 24
 * does so when code begins to listen to the derived signal, and Node 20 and 22 at once.
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
  const isHeard = isDerivedFrom || getEventListeners(signal, 'abort').length > watch.silent;
  if (isHeard === watch.isHeard) return;
  watch.isHeard = isHeard;
  watch.changed(isHeard);
}

function checkLater(signal: AbortSignal): void {
  const watch = watches.get(signal);
  if (watch === undefined || watch.isCheckDue) return;
  watch.isCheckDue = true;
  // The signal is not collected before that, because this refers to it.
  queueMicrotask(() => {
    watch.isCheckDue = false;
    check(signal);
  });
}

/**
 * A controller whose signal tells when code begins to listen to it, and when none listens any more. While the signal can
 * be reached, so can whatever `changed` refers to, and not the other way round.
 *
 * A signal that another one has been derived from counts as heard for good, and so does every signal where the runtime
 * does not show what this relies on.
 */
export function heardController(changed: (isHeard: boolean) => void): AbortController {
  const controller = watched(changed);
  if (!isShown) changed(true);
  return controller;
}

function watched(changed: (isHeard: boolean) => void): AbortController {
  const controller = new AbortController();
  const { signal } = controller;
  Object.setPrototypeOf(signal, HeardSignal.prototype);
  const ownKeys = Reflect.ownKeys(signal).length;
  watches.set(signal, { ownKeys, silent: 0, isHeard: false, isCheckDue: false, changed });
  return controller;
}

/** Aborts the controller when the signal does. Does not count as a listener, and keeps neither of the two alive. */
export function followSilently(signal: AbortSignal, controller: AbortController): void {
  const follower = new WeakRef(controller);
  const watch = watches.get(signal);
  if (watch !== undefined) watch.silent += 1;
  const onAbort = (): void => follower.deref()?.abort(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
}

/** Whether this runtime tells of each way of listening; tried once. */
const isShown: boolean = isHeardBy(
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
    // What the question of `any` is followed by, now.
    if (watches.get(signal)?.isCheckDue === true) check(signal);
    return seen.isHeard;
  });
}
