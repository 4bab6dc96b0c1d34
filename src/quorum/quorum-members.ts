import type { Revocation } from '../protocol/operation.js';
import type { StoreSeat, Store } from './store.js';

/** The owner of a `QuorumMembers`: the object that is told what happens to the seats. */
export interface MembersOwner {
  /** This seat was lost, so its store is no member any more. */
  seatLost(seat: StoreSeat): void;
  /** The holder of a seat is asked to release it. */
  releaseRequested(revocation: Revocation | undefined): void;
}

/** The members of one hold: the stores that have a seat of it. */
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
   * First makes the stores of all these seats members, and then watches the seats. So the owner, which is told at once
   * of a seat that has already ended, counts all members.
   */
  add(seats: Iterable<readonly [Store, StoreSeat]>): void {
    const added = [...seats];
    for (const [store, seat] of added) this.#seats.set(store, seat);
    for (const [store, seat] of added) this.#watch(store, seat);
  }

  /** Releases every seat that is not in the given list. */
  keepOnly(seats: readonly StoreSeat[]): void {
    for (const [store, seat] of [...this.#seats]) {
      if (seats.includes(seat)) continue;
      this.#seats.delete(store);
      void seat.release();
    }
  }

  /** Releases the seats in the background. Each store stays a member until its seat has ended. */
  release(): void {
    for (const seat of this.#seats.values()) void seat.release();
  }

  #watch(store: Store, seat: StoreSeat): void {
    seat.onEnded(() => {
      // If the map has another seat or none for this store, `keepOnly` has released this seat, so the seat is not lost.
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
