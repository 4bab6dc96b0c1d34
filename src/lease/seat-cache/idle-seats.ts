import type { Clock, Timer } from '../../clock.js';
import type { Seat } from '../holding/seat.js';
import type { CachedRequest } from './cached-request.js';

interface IdleSeatsOwner {
  readonly hasOneSeat: boolean;
  /** Whether this seat may pass to the next caller in this process. */
  mayPass(seat: Seat): boolean;
  returnIdle(idle: Seat): void;
}

/** The idle seats of one mutex or semaphore: which of them a request may use, and when each is given back. */
export class IdleSeats {
  readonly #clock: Clock;
  readonly #owner: IdleSeatsOwner;
  readonly #timers = new Map<Seat, Timer>();

  constructor(clock: Clock, owner: IdleSeatsOwner) {
    this.#clock = clock;
    this.#owner = owner;
  }

  /** Keeps the seat for `keepMs`; without `keepMs`, until the end of this turn of the event loop. */
  add(idle: Seat, keepMs?: number): void {
    const giveBack = (): void => {
      this.#owner.returnIdle(idle);
    };
    const timer =
      keepMs === undefined
        ? this.#clock.afterTurn(giveBack)
        : this.#clock.at(this.#clock.nowMs() + keepMs, giveBack);
    this.#timers.set(idle, timer);
  }

  delete(idle: Seat): void {
    this.#timers.get(idle)?.cancel();
    this.#timers.delete(idle);
  }

  /**
   * Removes and returns an idle seat that this request may use. Gives back each seat that the request may not use, if
   * the lock has one seat or the request is a try: that seat may block the request.
   */
  take({ durations, demand, timeoutMs }: CachedRequest): Seat | undefined {
    for (const idle of this.#timers.keys()) {
      const { grant } = idle;
      const isAlike =
        grant.durations.leaseMs === durations.leaseMs && grant.demand.permits === demand.permits;
      // The server must first compare the limit of the semaphore with the caller's limit, or set it.
      const mustAsk = demand.mustMatch === true || demand.setsLimit === true;
      if (isAlike && !mustAsk && this.#owner.mayPass(idle)) {
        this.delete(idle);
        return idle;
      }
      if (this.#owner.hasOneSeat || timeoutMs === 0) this.#owner.returnIdle(idle);
    }
    return undefined;
  }

  returnAll(): void {
    for (const idle of [...this.#timers.keys()]) this.#owner.returnIdle(idle);
  }
}
