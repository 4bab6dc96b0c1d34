import type { Clock } from '../../clock.js';

/**
 * Whether other processes wait for the lock, as far as this process knows. In a reader-writer lock, a waiter of this
 * process counts, too.
 *
 * - `none`: an answer showed that no other process waits. The answer also showed a lease of this process, so a later
 *   attempt that has to wait behind that lease notifies this process.
 * - `unknown`: this process does not know whether another process waits, so it keeps no seat.
 * - `waiting`: another process waits, has failed with a try or has the only seat, or the holders exceed a new limit.
 */
type State = 'none' | 'unknown' | 'waiting';

interface Hearing {
  readonly clock: Clock;
  /** The instant since which the change stream has been open without a gap; `Infinity` while it is not open. */
  gaplessSinceMs(): number;
}

export class OtherWaiters {
  readonly #hearing: Hearing;
  #state: State = 'unknown';
  /** The sending time of a request or read whose answer showed that no other process waits. */
  #noneSinceMs = -Infinity;
  #waitingSinceMs = -Infinity;
  /** Until this instant the process relies on its last read, even without an open change stream. */
  #reliedUntilMs = -Infinity;

  constructor(hearing: Hearing) {
    this.#hearing = hearing;
  }

  get state(): State {
    return this.#state;
  }

  /** Whether the change stream is open, so that new waiters can notify this process. */
  get isStreamOpen(): boolean {
    return this.#hearing.gaplessSinceMs() < Infinity;
  }

  /**
   * Whether no other process waits now, as far as this process may rely on what it knows: the stream has been open
   * since the answer that showed no waiter, or `#reliedUntilMs` is not reached. A read of a keeper that is far, or may
   * become far, sets `#reliedUntilMs` to a later time if it shows no other waiter.
   */
  get isNone(): boolean {
    if (this.#state !== 'none') return false;
    if (this.#hearing.gaplessSinceMs() <= this.#noneSinceMs) return true;
    return this.#hearing.clock.nowMs() < this.#reliedUntilMs;
  }

  /**
   * Called when the answer to a request that was sent at `sinceMs` shows a lease of this process, and no waiter of
   * another process. No effect if a notice of a waiter came after `sinceMs`, because the notice may be newer than the
   * answer. This holds even if the state has become `unknown` after the notice.
   */
  noneSeen(sinceMs: number): void {
    if (sinceMs < this.#waitingSinceMs) return;
    this.#state = 'none';
    this.#noneSinceMs = sinceMs;
  }

  /**
   * Called when a read that was sent at `sinceMs` shows that no other process waits. No effect if `isNone` is false:
   * only the answer to a request can make `isNone` true again.
   *
   * @param reliedUntilMs - Until when the process relies on the read. This limit does not apply while a change stream
   *   is open without a gap since `sinceMs`.
   */
  noneRead(sinceMs: number, reliedUntilMs: number): void {
    if (!this.isNone) return;
    this.#noneSinceMs = Math.max(this.#noneSinceMs, sinceMs);
    this.#reliedUntilMs = Math.max(this.#reliedUntilMs, reliedUntilMs);
  }

  oneWaits(): void {
    this.#state = 'waiting';
    this.#reliedUntilMs = -Infinity;
    this.#waitingSinceMs = this.#hearing.clock.nowMs();
  }

  forget(): void {
    this.#state = 'unknown';
    this.#reliedUntilMs = -Infinity;
  }
}
