import { onAbort } from './abort-listeners.js';
import type { Clock } from './clock.js';
import { ProviderClosedError } from './errors.js';
import type { ParsedWait } from './options/request-options.js';

/** The limits that the caller sets to one call. */
export interface CallLimits extends ParsedWait {
  /** When the call began, on the monotonic clock. */
  readonly startedMs: number;
}

/** The longest wait for the answer to a cancel, which is sent when the request's own time to wait is up. */
export const CANCEL_GRACE_MS = 1_000;

/** The reason why a call ends from outside. */
export type Stop =
  { readonly type: 'aborted'; readonly errorOf: () => unknown } | { readonly type: 'time up' };

/** The callbacks that tell one call that it has to end. */
export interface ScopeListener {
  /**
   * The caller aborted, or the provider closes. `errorOf` creates the error. If possible, call it in a function that
   * the caller awaits, so that the stack leads to the caller.
   */
  readonly aborted: (errorOf: () => unknown) => void;
  /**
   * The time is up. That is no error yet: the call may have to ask the server whether its grant came first.
   */
  readonly timeUp: () => void;
}

/** @throws The reason of the caller's signal; {@link ProviderClosedError}. */
export function throwIfOver(lockName: string, closing: AbortSignal, signal: AbortSignal | undefined): void {
  signal?.throwIfAborted();
  if (closing.aborted) throw new ProviderClosedError(lockName);
}

/**
 * The scope of one call: the caller's signal, the closing of the provider, and the time to wait, in one place.
 *
 * The timer of a scope does not keep the process alive. A call that waits uses `keepAlive` for that.
 */
export class Scope {
  readonly #lockName: string;
  readonly #clock: Clock;
  readonly #closing: AbortSignal;
  readonly #limits: CallLimits;
  readonly #tryMs: number;

  /**
   * @param tryMs - The time, in ms, for which a single try (`timeoutMs` 0) waits for a silent store. A call with a
   *   longer `timeoutMs` waits for the store until that timeout.
   */
  constructor(lockName: string, clock: Clock, closing: AbortSignal, limits: CallLimits, tryMs = 0) {
    this.#lockName = lockName;
    this.#clock = clock;
    this.#closing = closing;
    this.#limits = limits;
    this.#tryMs = tryMs;
  }

  /** @throws The reason of the caller's signal; {@link ProviderClosedError}. */
  throwIfOver(): void {
    throwIfOver(this.#lockName, this.#closing, this.#limits.signal);
  }

  /**
   * Begins to listen. An abort that came before is not reported: call `throwIfOver` first.
   *
   * @returns A function to unsubscribe. A signal may outlive many calls, and must not keep their listeners.
   */
  open({ aborted, timeUp }: ScopeListener): () => void {
    const { signal, startedMs, timeoutMs } = this.#limits;
    const boundMs = timeoutMs === 0 ? this.#tryMs : timeoutMs;
    const forgetSignal = onAbort(signal, () => {
      aborted(() => signal?.reason);
    });
    const onClosing = (): void => {
      aborted(() => new ProviderClosedError(this.#lockName));
    };
    // `closing` is the library's own signal, without a limit of listeners.
    this.#closing.addEventListener('abort', onClosing, { once: true });
    const timer = boundMs < Infinity ? this.#clock.at(startedMs + boundMs, timeUp) : undefined;
    return () => {
      timer?.cancel();
      forgetSignal();
      this.#closing.removeEventListener('abort', onClosing);
    };
  }
}
