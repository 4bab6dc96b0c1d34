import type { ServerClock } from './server-clock.js';

/** By how much the estimate of the server's clock may be early. */
const ARRIVAL_SLACK_MS = 100;

/** Of no copies at all: they are over. */
const never = (): number => -Infinity;

const always =
  (ms: number): (() => number) =>
  () =>
    ms;

/**
 * The copies of one request that nobody has answered. Each of them may still reach the server, and take a seat or a place
 * for a caller that has gone, until the request's not-after is past by the server's clock (E2). Asked when it matters:
 * what was known when the request was given up may have changed since.
 */
export class UnansweredCopies {
  readonly #serverClock: ServerClock;
  /** The not-after, in ms, as far as it matters: a hold keeps this object, and must not keep its request. */
  #notAfterMs: () => number = never;
  #inFlight = 0;
  #isAnyLost = false;

  constructor(serverClock: ServerClock) {
    this.#serverClock = serverClock;
  }

  /**
   * A copy goes out.
   *
   * @param notAfter - That of the request, which is made when it is sent; asked at the earliest when it matters.
   */
  sent(notAfter: () => Date): void {
    this.#inFlight += 1;
    this.#notAfterMs = () => notAfter().getTime();
  }

  /** It was answered, or never reached the server. `mayArrive`: nobody can tell, and it may do so later. */
  settled(mayArrive: boolean): void {
    this.#inFlight -= 1;
    this.#isAnyLost ||= mayArrive;
    if (this.#inFlight > 0) return;
    this.#notAfterMs = this.#isAnyLost ? always(this.#notAfterMs()) : never;
  }

  /** Whether there are any. */
  get mayArrive(): boolean {
    return this.#inFlight > 0 || this.#isAnyLost;
  }

  /** When they do nothing any more, on the clock of this process, as far as it can tell. */
  get overAtMs(): number {
    return this.#serverClock.toLocalMs(this.#notAfterMs()) + ARRIVAL_SLACK_MS;
  }

  /** Whether they do nothing any more at this time of the server. */
  areOver(serverMs: number): boolean {
    return serverMs > this.#notAfterMs();
  }
}
