import type { ServerClock } from '../store/server-clock.js';

/** By how much the estimate of the server's clock may be early. */
const ARRIVAL_SLACK_MS = 100;

/**
 * The copies of one request that nobody has answered. Each of them may still reach the server, and take a seat or a place
 * for a caller that has gone, until the request's not-after is past by the server's clock (E2). Asked when it matters:
 * what was known when the request was given up may have changed since.
 */
export class UnansweredCopies {
  readonly #serverClock: ServerClock;
  readonly #notAfter: () => Date;
  #inFlight = 0;
  #isAnyLost = false;

  /** @param notAfter - Asked only once the request has been sent. */
  constructor(serverClock: ServerClock, notAfter: () => Date) {
    this.#serverClock = serverClock;
    this.#notAfter = notAfter;
  }

  /** A copy goes out. */
  sent(): void {
    this.#inFlight += 1;
  }

  /** It was answered, or never reached the server. `mayArrive`: nobody can tell, and it may do so later. */
  settled(mayArrive: boolean): void {
    this.#inFlight -= 1;
    this.#isAnyLost ||= mayArrive;
  }

  /** Whether there are any. */
  get mayArrive(): boolean {
    return this.#inFlight > 0 || this.#isAnyLost;
  }

  /** When they do nothing any more, on the clock of this process, as far as it can tell. */
  get overAtMs(): number {
    return this.#serverClock.toLocalMs(this.#notAfter().getTime()) + ARRIVAL_SLACK_MS;
  }

  /** Whether they do nothing any more at this time of the server. */
  areOver(serverMs: number): boolean {
    return serverMs > this.#notAfter().getTime();
  }
}
