import type { ServerClock } from './server-clock.js';

/**
 * A margin beyond the known error of the estimate of the server's clock: the clocks may drift apart until the
 * not-after.
 */
const ARRIVAL_SLACK_MS = 100;

/** Used while no copy can arrive (none was sent, or all are done): a not-after that is always in the past. */
const NO_NOT_AFTER = (): number => -Infinity;

const constant =
  (ms: number): (() => number) =>
  () =>
    ms;

/**
 * The unanswered copies of one request. Such a copy may reach the server after its caller has gone, and take a seat or
 * a place for nobody (E2). After the request's not-after, by the server's clock, no copy can do so. Read the properties
 * anew each time: they may change after the request was given up.
 */
export class UnansweredCopies {
  readonly #serverClock: ServerClock;
  /**
   * Returns the not-after in ms. A hold may keep this object for long, so the function refers to the request only while
   * a copy is in flight.
   */
  #notAfterMs: () => number = NO_NOT_AFTER;
  #inFlight = 0;
  #isAnyLost = false;

  constructor(serverClock: ServerClock) {
    this.#serverClock = serverClock;
  }

  /**
   * A copy is about to be sent.
   *
   * @param notAfter - Returns the not-after of the request. Called later, because a request is made when it is sent.
   */
  sent(notAfter: () => Date): void {
    this.#inFlight += 1;
    this.#notAfterMs = () => notAfter().getTime();
  }

  /**
   * The library awaits nothing more from one copy: the copy was answered, surely never reached the server, or its
   * answer was given up.
   *
   * @param mayArrive - Whether the copy may still reach the server.
   */
  copyEnded(mayArrive: boolean): void {
    this.#inFlight -= 1;
    this.#isAnyLost ||= mayArrive;
    if (this.#inFlight > 0) return;
    this.#notAfterMs = this.#isAnyLost ? constant(this.#notAfterMs()) : NO_NOT_AFTER;
  }

  /** Whether a copy may still reach the server. */
  get mayArrive(): boolean {
    return this.#inFlight > 0 || this.#isAnyLost;
  }

  /**
   * The instant on the clock of this process after which no unanswered copy can take effect, by the estimate of the
   * server's clock.
   */
  get overAtMs(): number {
    const { aheadByMs } = this.#serverClock;
    return this.#serverClock.toLocalMs(this.#notAfterMs()) + aheadByMs + ARRIVAL_SLACK_MS;
  }

  /** Whether the copies can do nothing any more at the server time `serverMs`. */
  areOver(serverMs: number): boolean {
    return serverMs > this.#notAfterMs();
  }
}
