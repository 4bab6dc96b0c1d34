import type { Clock, Timer } from '../../clock.js';
import { distanceFor } from './wakeup-policy.js';
import type { Distance, QueuePosition } from './wakeup-policy.js';

/** The change stream, as the waiting room sees it: the source of wake-ups. */
export interface WakeSource {
  /** The instant since which the stream has been open without a gap; `Infinity` while it is not open. */
  readonly gaplessSinceMs: number;
  readonly isPolling: boolean;
  /** Opens the stream, or closes it after `lingerMs` (default: at once). */
  listen(listening: boolean, lingerMs?: number): void;
}

export interface Polls {
  /** Makes the poller plan its next read anew. */
  hurry(): void;
}

/** Opens and closes the change stream, and tells the poller when to read, by the rules of wakeup-policy.ts. */
export class Listening {
  readonly #wakeups: WakeSource;
  readonly #polls: Polls;
  readonly #positions: () => readonly QueuePosition[];
  readonly #wakeIdleMs: number;
  readonly #clock: Clock;
  /** The result of the last `decide`; `undefined` if no attempt is in a queue and this process is no near keeper. */
  #distance: Distance | undefined;
  #isKeeperNear = false;
  /** After the last wait, the stream stays open until this instant, because the next wait may begin soon. */
  #lingerUntilMs = -Infinity;
  #timer: Timer | undefined;

  /** @param positions - Returns one position for each lock that an attempt of this process is queued for. */
  constructor(
    wakeups: WakeSource,
    polls: Polls,
    positions: () => readonly QueuePosition[],
    wakeIdleMs: number,
    clock: Clock,
  ) {
    this.#wakeups = wakeups;
    this.#polls = polls;
    this.#positions = positions;
    this.#wakeIdleMs = wakeIdleMs;
    this.#clock = clock;
  }

  /** Whether the process reads its places: it polls, or is far. */
  get isReading(): boolean {
    return this.#wakeups.isPolling || this.#distance?.type === 'far';
  }

  /**
   * When to read, in ms after each full second of the server's clock; `undefined` if the process polls or is not far.
   */
  get phaseMs(): number | undefined {
    return this.#wakeups.isPolling || this.#distance?.type !== 'far' ? undefined : this.#distance.phaseMs;
  }

  setKeeperNear(isNear: boolean): void {
    this.#isKeeperNear = isNear;
    this.decide();
  }

  /** Called when a queue has moved, or when an attempt has joined one. */
  moved(): void {
    if (this.#distance?.type !== 'near') this.decide();
  }

  /**
   * Called when the process has read all its places. A process that was far and still is far stops listening at once.
   */
  placesRead(): void {
    if (this.#distance?.type === 'far' && this.decide()?.type === 'far') this.#wakeups.listen(false);
  }

  /** Called when the last wait in the queue of one lock has ended. */
  linger(): void {
    this.#lingerUntilMs = this.#clock.nowMs() + this.#wakeIdleMs;
  }

  /**
   * A process that becomes near listens at once. A process that becomes far listens until a read has shown that nothing
   * has moved, because no event tells a waiter that the queue ahead has moved.
   */
  decide(): Distance | undefined {
    this.#timer?.cancel();
    const nowMs = this.#clock.nowMs();
    const distance: Distance | undefined = this.#isKeeperNear
      ? { type: 'near', untilMs: Infinity }
      : distanceFor(this.#positions(), this.#wakeIdleMs, nowMs);
    this.#distance = distance;
    if (distance === undefined) this.#wakeups.listen(false, Math.max(0, this.#lingerUntilMs - nowMs));
    if (distance?.type === 'near') {
      this.#wakeups.listen(true);
      this.#timer = this.#clock.at(distance.untilMs, this.decide.bind(this));
    }
    if (!this.#wakeups.isPolling) this.#polls.hurry();
    return distance;
  }

  close(): void {
    this.#timer?.cancel();
  }
}
