interface Listeners {
  readonly callbacks: Set<() => void>;
  readonly listener: () => void;
}

const listenersOf = new WeakMap<AbortSignal, Listeners>();

/**
 * Calls `callback` once, when the signal aborts. Never calls `callback` if the signal has aborted already. Returns a
 * function that unsubscribes.
 *
 * However many requests use a caller's signal, the library puts one listener on that signal, because Node reports the
 * eleventh listener of a signal as a leak.
 */
export function onAbort(signal: AbortSignal | undefined, callback: () => void): () => void {
  if (signal === undefined || signal.aborted) return () => undefined;
  const listeners = listenersOf.get(signal) ?? listenTo(signal);
  // Each call needs its own entry, because a caller may pass the same function twice.
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
    // A callback that an earlier callback removes is not called, as with listeners of the signal itself.
    for (const callback of callbacks) callback();
    callbacks.clear();
  };
  signal.addEventListener('abort', listener, { once: true });
  const listeners = { callbacks, listener };
  listenersOf.set(signal, listeners);
  return listeners;
}

/**
 * A controller whose signal also aborts as soon as one of the sources aborts. The signal then takes over the `reason`
 * of that source.
 *
 * `AbortSignal.any` is not enough, because its signal cannot be unlinked. The listeners of that signal would live as
 * long as the sources, and a source may outlive many calls.
 */
export class LinkedController extends AbortController {
  readonly #links: readonly (() => void)[];

  constructor(...sources: readonly (AbortSignal | undefined)[]) {
    super();
    this.#links = sources.map((source) => {
      if (source?.aborted === true) this.abort(source.reason);
      return onAbort(source, () => {
        this.abort(source?.reason);
      });
    });
  }

  /** After this call, the sources do not abort the signal any more. */
  unlink(): void {
    for (const unlink of this.#links) unlink();
  }
}
