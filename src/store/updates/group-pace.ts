/**
 * The most groups in flight while none of them is slow: while the server handles one group, the client makes the next
 * one. With more groups in flight, each would be smaller, and each statement would cost more.
 */
const USUAL_IN_FLIGHT = 2;

/**
 * If at least `USUAL_IN_FLIGHT` groups are in flight and statements wait, a further group starts this long after the
 * last start, in ms, up to `MAX_IN_FLIGHT` groups.
 */
const SLOW_GROUP_MS = 50;

/** The most groups in flight, slow ones included. Even a store that has stopped answering gets no more. */
const MAX_IN_FLIGHT = 6;

/**
 * The time bound of a group is short, because a document that is blocked, for example by a long transaction, delays the
 * later statements of its group until the bound. Then each operation of the group is repeated alone.
 *
 * The bound is `BOUND_FACTOR` times the usual time of a group, so that a slow server does not get all statements
 * twice. It is at least `MIN_BOUND_MS`, and at most the bound of an ordinary call.
 */
const MIN_BOUND_MS = 1_000;
const BOUND_FACTOR = 20;

/** When the next group of statements may start, and how long it may take. A lone statement counts as a group. */
export class GroupPace {
  #inFlight = 0;
  #startedMs = -Infinity;
  /** A moving average of the time that the update command of a group takes, in ms. Infinite before the first group. */
  #usualMs = Infinity;

  started(nowMs: number): void {
    this.#inFlight += 1;
    this.#startedMs = nowMs;
  }

  ended(): void {
    this.#inFlight -= 1;
  }

  /** @param ms - How long the update command of a group of several statements took, with or without an answer. */
  took(ms: number): void {
    this.#usualMs = this.#usualMs === Infinity ? ms : (7 * this.#usualMs + ms) / 8;
  }

  mayStart(nowMs: number): boolean {
    if (this.#inFlight < USUAL_IN_FLIGHT) return true;
    return this.#inFlight < MAX_IN_FLIGHT && nowMs >= this.#startedMs + SLOW_GROUP_MS;
  }

  /** When the next group may start if no group in flight ends before; `Infinity`: not before one of them ends. */
  get nextStartMs(): number {
    return this.#inFlight < MAX_IN_FLIGHT ? this.#startedMs + SLOW_GROUP_MS : Infinity;
  }

  /** @param callBoundMs - The time bound of an ordinary call. */
  boundMs(callBoundMs: number): number {
    return Math.min(Math.max(MIN_BOUND_MS, BOUND_FACTOR * this.#usualMs), callBoundMs);
  }
}
