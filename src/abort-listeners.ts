/** The callbacks of one signal, and the one listener that serves them all. */
interface Listeners {
  readonly callbacks: Set<() => void>;
  readonly listener: () => void;
}

const listenersOf = new WeakMap<AbortSignal, Listeners>();

/**
 * Calls back once when the signal aborts; not for one that has aborted already. Returns what ends that.
 *
 * However many requests of the library one signal is given to, it has one listener of the library: Node takes the eleventh
 * listener of a signal for a leak, and warns.
 */
export function onAbort(signal: AbortSignal | undefined, callback: () => void): () => void {
  if (signal === undefined || signal.aborted) return () => undefined;
  const listeners = listenersOf.get(signal) ?? listenTo(signal);
  // An object of its own, though one function may be given twice.
  const own = (): void => {
    callback();
  };
  listeners.callbacks.add(own);
  return () => {
    if (!listeners.callbacks.delete(own) || listeners.callbacks.size > 0) return;
    signal.removeEventListener('abort', listeners.listener);
    listenersOf.delete(signal);
  };
}

function listenTo(signal: AbortSignal): Listeners {
  const callbacks = new Set<() => void>();
  const listener = (): void => {
    listenersOf.delete(signal);
    // One that is taken off by an earlier one is not called, as with listeners of the signal itself.
    for (const callback of callbacks) callback();
    callbacks.clear();
  };
  signal.addEventListener('abort', listener, { once: true });
  const listeners = { callbacks, listener };
  listenersOf.set(signal, listeners);
  return listeners;
}
