import type { Timer } from '../clock.js';
import type { Quorum } from './quorum.js';
import type { StoreSeat, Store, SeatRequest } from './store.js';

/** The part of a hold that `MissingStores` needs. */
interface IncompleteHold {
  readonly token: number;
  /** The request for a missing seat; `undefined` while no seat may join. */
  checkJoinRequest(): SeatRequest | undefined;
  has(store: Store): boolean;
  add(store: Store, seat: StoreSeat): void;
}

/**
 * Adds the missing seats of a hold. Every third of a lease, until the hold ends, this object asks each store in which
 * the hold has no seat. So the hold can survive restarts of all stores, one after the other.
 */
export class MissingStores {
  readonly #quorum: Quorum;
  readonly #hold: IncompleteHold;
  readonly #everyMs: number;
  readonly #inFlight = new Set<Store>();
  readonly #ending = new AbortController();
  #timer: Timer | undefined;

  constructor(quorum: Quorum, hold: IncompleteHold, leaseMs: number) {
    this.#quorum = quorum;
    this.#hold = hold;
    this.#everyMs = leaseMs / 3;
  }

  /**
   * Waits for `inFlight`, a try that was sent to the store. When the try is granted, its seat joins the hold; if the
   * seat may not join, it is released. Until then, the store is not asked again.
   */
  expect(store: Store, inFlight: Promise<StoreSeat>): void {
    this.#inFlight.add(store);
    void inFlight
      .then((seat) => this.#join(store, seat))
      .catch(() => undefined)
      .finally(() => this.#inFlight.delete(store));
  }

  /** Starts the timer if a store is missing. */
  arm(): void {
    const { clock } = this.#quorum;
    const isNeeded = this.#missing.length > 0 && !this.#ending.signal.aborted;
    if (!isNeeded || this.#timer !== undefined) return;
    this.#timer = clock.at(clock.nowMs() + this.#everyMs, () => {
      this.#timer = undefined;
      this.ask();
      this.arm();
    });
  }

  /** Asks the missing stores now. */
  ask(): void {
    const joinRequest = this.#hold.checkJoinRequest();
    if (joinRequest === undefined) return;
    for (const store of this.#missing) {
      if (this.#inFlight.has(store)) continue;
      this.expect(store, this.#quorum.health.try(store, joinRequest, this.#ending.signal));
    }
  }

  end(): void {
    this.#timer?.cancel();
    this.#ending.abort();
  }

  /**
   * Raises the fence of the seat and adds the seat to the hold. Releases the seat if it may not join, or if its fence
   * is not raised.
   */
  async #join(store: Store, seat: StoreSeat): Promise<void> {
    const hold = this.#hold;
    const mayJoin = (): boolean => seat.currentMode() === hold.checkJoinRequest()?.mode && !hold.has(store);
    let fence = seat.fencingToken;
    try {
      // A change of mode may bring a higher token meanwhile.
      while (mayJoin() && fence < hold.token) {
        const { token } = hold;
        await seat.raiseFence(token);
        fence = token;
      }
      if (mayJoin()) {
        hold.add(store, seat);
        return;
      }
    } catch {
      // A seat whose fence is not raised must not count.
    }
    void seat.release();
  }

  get #missing(): readonly Store[] {
    return this.#quorum.stores.filter((store) => !this.#hold.has(store));
  }
}
