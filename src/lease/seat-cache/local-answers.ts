import type { Clock } from '../../clock.js';

/** About a millisecond of callers that do nothing else. A mutex passes about as often before it asks the server. */
const MOST_IN_A_TURN = 256;

/**
 * Counts the requests that this process has answered without the server in the present turn of its event loop.
 *
 * The answer to such a request needs no I/O. Callers that ask again as soon as they are answered would keep the event
 * loop in one turn. The process would not hear that another process waits, and would not extend its leases: readers of a
 * kept seat did so for as long as two thirds of the lease. So after a number of such answers, the requests wait for the
 * next turn. They go on in their order, and before later requests.
 */
export class LocalAnswers {
  readonly #clock: Clock;
  #count = 0;
  #nextTurn: Promise<void> | undefined;
  #begin: (() => void) | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Called when a request is answered without the server. */
  answered(): void {
    this.#count += 1;
    if (this.#count === 1) this.#clock.afterTurn(this.#turned.bind(this));
  }

  /** The next turn, if a request has to wait for it; `undefined` if the request may go on at once. */
  get nextTurn(): Promise<void> | undefined {
    if (this.#count < MOST_IN_A_TURN) return undefined;
    this.#nextTurn ??= new Promise((resolve) => (this.#begin = resolve));
    return this.#nextTurn;
  }

  #turned(): void {
    this.#count = 0;
    this.#begin?.();
    this.#nextTurn = undefined;
    this.#begin = undefined;
  }
}
