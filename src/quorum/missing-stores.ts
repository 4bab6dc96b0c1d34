import type { Timer } from '../clock.js';
import type { Quorum } from './quorum.js';
import type { StoreSeat, Store, SeatRequest } from './store.js';

interface IncompleteHold {
  readonly token: number;
  /** The request for a missing seat; `undefined` while no seat may join. */
  checkJoinRequest(): SeatRequest | undefined;
  has(store: Store): boolean;
  add(store: Store, seat: StoreSeat): void;
}

/**
 * Adds the missing seats of a hold. Every third of a lease, until the hold ends, and after each change of mode, this
 * object sends a try to each store in which the hold has no seat, if a seat may join and no try is in flight there. So
 * the hold can survive restarts of all stores, one after the other.
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
   * `inFlight` is a try that was sent to the store. If the try is granted, its seat joins the hold or is released. The
   * store gets no other try for this hold before this one has ended.
   */
  expect(store: Store, inFlight: Promise<StoreSeat>): void {
    this.#inFlight.add(store);
    void inFlight
      .then((seat) => this.#join(store, seat))
      .catch(() => undefined)
      .finally(() => this.#inFlight.delete(store));
  }

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

  ask(): void {
    const joinRequest = this.#hold.checkJoinRequest();
    if (joinRequest === undefined) return;
    for (const store of this.#missing) {
      if (this.#inFlight.has(store)) continue;
      const inFlight = this.#quorum.health.try(store, joinRequest, () => {
        this.#throwIfOver();
      });
      this.expect(store, inFlight);
    }
  }

  #throwIfOver(): void {
    // If the deadline of the hold has passed unnoticed, this call ends the hold, which aborts `#ending`.
    this.#hold.checkJoinRequest();
    this.#ending.signal.throwIfAborted();
  }

  end(): void {
    this.#timer?.cancel();
    this.#ending.abort();
  }

  /**
   * Adds the seat to the hold, after the fence of its store is raised to the token of the hold (S3). Releases a seat
   * that may not join.
   */
  async #join(store: Store, seat: StoreSeat): Promise<void> {
    const hold = this.#hold;
    const mayJoin = (): boolean => seat.currentMode() === hold.checkJoinRequest()?.mode && !hold.has(store);
    let fence = seat.fencingToken;
    try {
      // While `raiseFence` is in progress, a change of mode may give the hold a higher token.
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
      // If the fence is not raised, the seat must not join the hold (S3), so the code below releases the seat.
    }
    void seat.release();
  }

  get #missing(): readonly Store[] {
    return this.#quorum.stores.filter((store) => !this.#hold.has(store));
  }
}
