import type { Clock } from '../../clock.js';

/**
 * Whether other callers wait for the lock, so that this process must not go on using its kept seats. `none`: an answer
 * showed that none waits, and since then this process has a lease, so any attempt that has to wait behind it notifies
 * this process. `unknown`: this process does not know, so it keeps no seat. `waiting`: one waits.
 */
type State = 'none' | 'unknown' | 'waiting';

/** The clock, and the instant since which the process has missed no notice of another waiter. */
interface Hearing {
  readonly clock: Clock;
  /** The instant since which the change stream has been open without a gap; `Infinity` while it is not open. */
  gaplessSinceMs(): number;
}

/** What this process knows of the callers that wait for a lock whose seats it may keep. */
export class OtherWaiters {
  readonly #hearing: Hearing;
  #state: State = 'unknown';
  /** The sending time of the request whose answer showed that no other process waits. */
  #noneSinceMs = -Infinity;
  #waitingSinceMs = -Infinity;

  constructor(hearing: Hearing) {
    this.#hearing = hearing;
  }

  get state(): State {
    return this.#state;
  }

  /** Whether the change stream is open, so that this process hears of a newcomer. */
  get isHeard(): boolean {
    return this.#hearing.gaplessSinceMs() < Infinity;
  }

  /** Whether none waits now. False after a gap in the wake-ups, because a newcomer may have come unnoticed. */
  get isNone(): boolean {
    return this.#state === 'none' && this.#hearing.gaplessSinceMs() <= this.#noneSinceMs;
  }

  /**
   * The answer to a request that was sent at `sinceMs` shows a lease of this process, and that no other process waits.
   * No effect if a notice that came after the sending says otherwise: it may be newer than the answer.
   */
  noneSeen(sinceMs: number): void {
    if (this.#state === 'waiting' && sinceMs < this.#waitingSinceMs) return;
    this.#state = 'none';
    this.#noneSinceMs = sinceMs;
  }

  oneWaits(): void {
    this.#state = 'waiting';
    this.#waitingSinceMs = this.#hearing.clock.nowMs();
  }

  forget(): void {
    this.#state = 'unknown';
  }
}
