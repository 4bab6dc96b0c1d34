import type { ServerClock } from './server-clock.js';

/**
 * A margin in ms: until the not-after, the clocks of the process and the server may drift apart. `aheadByMs` of the
 * server clock does not cover this drift.
 */
const ARRIVAL_SLACK_MS = 100;

/** The not-after if no copy can arrive: none was sent, or none was lost and all have ended. Always in the past. */
const NO_NOT_AFTER = (): number => -Infinity;

const constant =
  (ms: number): (() => number) =>
  () =>
    ms;

/**
 * The unanswered copies of one request or one resize. An unanswered copy may reach the server after its caller has
 * gone. A copy of a request may then take a seat or a place that nobody uses (E2). After the not-after, by the server's
 * clock, a copy has no effect.
 *
 * The properties may change even after the process has given up the operation, so read them anew each time.
 */
export class UnansweredCopies {
  readonly #serverClock: ServerClock;
  /**
   * Returns the not-after in ms. A hold may keep this object for a long time. So this function refers to the request
   * only while a copy is in flight.
   */
  #notAfterMs: () => number = NO_NOT_AFTER;
  #inFlight = 0;
  #isAnyLost = false;

  constructor(serverClock: ServerClock) {
    this.#serverClock = serverClock;
  }

  /**
   * Called when a copy is about to be sent.
   *
   * @param notAfter - Returns the not-after of the operation. For a request, the first call of `notAfter` fixes it.
   *   This method does not call `notAfter`, because the copy is not sent yet.
   */
  sent(notAfter: () => Date): void {
    this.#inFlight += 1;
    this.#notAfterMs = () => notAfter().getTime();
  }

  /**
   * Called when the library awaits nothing more from one copy: the copy was answered, surely never reached the server,
   * or its answer was given up.
   *
   * @param mayArrive - Whether the copy may still reach the server.
   */
  copyEnded(mayArrive: boolean): void {
    this.#inFlight -= 1;
    this.#isAnyLost ||= mayArrive;
    if (this.#inFlight > 0) return;
    this.#notAfterMs = this.#isAnyLost ? constant(this.#notAfterMs()) : NO_NOT_AFTER;
  }

  get mayArrive(): boolean {
    return this.#inFlight > 0 || this.#isAnyLost;
  }

  /**
   * The instant on this process's clock after which no unanswered copy has any effect. It follows from an estimate of
   * the server's clock, with a margin.
   */
  get overAtMs(): number {
    const { aheadByMs } = this.#serverClock;
    return this.#serverClock.toLocalMs(this.#notAfterMs()) + aheadByMs + ARRIVAL_SLACK_MS;
  }

  /** Whether no copy has any effect after the server time `serverMs`. */
  areOver(serverMs: number): boolean {
    return serverMs > this.#notAfterMs();
  }
}
