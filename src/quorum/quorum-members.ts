import type { Revocation } from '../protocol/operation.js';
import type { StoreSeat, Store } from './store.js';

export interface MembersOwner {
  /** Called when a seat has ended, also by the end of the hold. Its store is no member any more. */
  seatLost(seat: StoreSeat): void;
  releaseRequested(revocation: Revocation | undefined): void;
}

/** The members of one hold: the stores in which the hold has a seat. */
export class QuorumMembers {
  readonly #owner: MembersOwner;
  readonly #seats = new Map<Store, StoreSeat>();

  constructor(owner: MembersOwner) {
    this.#owner = owner;
  }

  get seats(): readonly StoreSeat[] {
    return [...this.#seats.values()];
  }

  get size(): number {
    return this.#seats.size;
  }

  has(store: Store): boolean {
    return this.#seats.has(store);
  }

  /**
   * All seats are added before the first one is watched: the owner hears at once of a seat that has already ended, and
   * then counts the members.
   */
  add(seats: Iterable<readonly [Store, StoreSeat]>): void {
    const added = [...seats];
    for (const [store, seat] of added) this.#seats.set(store, seat);
    for (const [store, seat] of added) this.#watch(store, seat);
  }

  keepOnly(seats: readonly StoreSeat[]): void {
    for (const [store, seat] of [...this.#seats]) {
      if (seats.includes(seat)) continue;
      this.#seats.delete(store);
      void seat.release();
    }
  }

  /**
   * Ends the seats, so that their stores are members no more, and gives the seats back to the stores in the background.
   */
  release(): void {
    for (const seat of this.#seats.values()) void seat.release();
  }

  #watch(store: Store, seat: StoreSeat): void {
    seat.onEnded(() => {
      // If the map does not have this seat any more, `keepOnly` has released the seat, so it is not lost.
      if (this.#seats.get(store) !== seat) return;
      this.#seats.delete(store);
      this.#owner.seatLost(seat);
    });
    const onRequest = (): void => {
      this.#owner.releaseRequested(seat.revocation);
    };
    if (seat.releaseRequested.aborted) onRequest();
    else seat.releaseRequested.addEventListener('abort', onRequest, { once: true });
  }
}
