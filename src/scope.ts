import { onAbort } from './abort-listeners.js';
import type { Clock } from './clock.js';
import { ProviderClosedError } from './errors.js';
import type { ParsedWait } from './options/request-options.js';

/** When one call began, and the limits that its caller has set. */
export interface CallLimits extends ParsedWait {
  /** When the call began, on the monotonic clock. */
  readonly startedMs: number;
}

/**
 * The longest wait, in ms, after the time of a request or an upgrade is up: for the answer to its cancel, and for the
 * extension that may follow (E7).
 */
export const CANCEL_GRACE_MS = 1_000;

/** Why a call must end: the caller has aborted it, the provider closes, or the time is up. */
export type Stop =
  { readonly type: 'aborted'; readonly errorOf: () => unknown } | { readonly type: 'time up' };

export interface ScopeListener {
  /**
   * Called when the caller aborts or the provider closes. `errorOf` returns the error of the call. If possible, call
   * `errorOf` in a function that the caller awaits, so that the stack of a new error leads to the caller.
   */
  readonly aborted: (errorOf: () => unknown) => void;
  /**
   * Called when the time is up. The call need not fail yet: it may ask the server whether the grant came first.
   */
  readonly timeUp: () => void;
}

/** @throws The reason of the caller's signal; {@link ProviderClosedError}. */
export function throwIfOver(lockName: string, closing: AbortSignal, signal: AbortSignal | undefined): void {
  signal?.throwIfAborted();
  if (closing.aborted) throw new ProviderClosedError(lockName);
}

/**
 * The limits of one call: the caller's signal, the closing of the provider, and the time to wait.
 *
 * The timer of a scope does not keep the process alive. A call that waits must use `keepAlive`.
 */
export class Scope {
  readonly #lockName: string;
  readonly #clock: Clock;
  readonly #closing: AbortSignal;
  readonly #limits: CallLimits;
  readonly #tryMs: number;

  /**
   * @param tryMs - The time, in ms, after which a try (`timeoutMs` 0) ends although the store is silent. A call with a
   *   longer `timeoutMs` ends after that timeout.
   */
  constructor(lockName: string, clock: Clock, closing: AbortSignal, limits: CallLimits, tryMs: number) {
    this.#lockName = lockName;
    this.#clock = clock;
    this.#closing = closing;
    this.#limits = limits;
    this.#tryMs = tryMs;
  }

  throwIfOver(): void {
    throwIfOver(this.#lockName, this.#closing, this.#limits.signal);
  }

  /**
   * Begins to listen. An abort or a close before this call is not reported: call `throwIfOver` first.
   *
   * @returns A function that unsubscribes. A signal may outlive many calls, and must not keep their listeners.
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
    // `closing` is the library's own signal, whose number of listeners is not limited.
    this.#closing.addEventListener('abort', onClosing, { once: true });
    const timer = boundMs < Infinity ? this.#clock.at(startedMs + boundMs, timeUp) : undefined;
    return () => {
      timer?.cancel();
      forgetSignal();
      this.#closing.removeEventListener('abort', onClosing);
    };
  }
}
