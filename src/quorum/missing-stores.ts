import type { Timer } from '../clock.js';
import type { Quorum } from './quorum.js';
import type { Seat, Store, SeatRequest } from './store.js';

/** A hold that wants a seat in every store. */
interface Wanting {
  /** What is asked of those that are missing; `undefined`: nothing just now. */
  readonly wanted: SeatRequest | undefined;
  has(store: Store): boolean;
  offer(store: Store, seat: Seat): Promise<void>;
}

/** While a hold lasts, whoever is missing is asked every third of a lease: so a store may restart, then the next. */
export class MissingStores {
  readonly #quorum: Quorum;
  readonly #hold: Wanting;
  readonly #everyMs: number;
  readonly #asked = new Set<Store>();
  readonly #ending = new AbortController();
  #timer: Timer | undefined;

  constructor(quorum: Quorum, hold: Wanting, leaseMs: number) {
    this.#quorum = quorum;
    this.#hold = hold;
    this.#everyMs = leaseMs / 3;
  }

  /** This store has been asked for a seat. */
  expect(store: Store, asked: Promise<Seat>): void {
    this.#asked.add(store);
    void asked
      .then((seat) => this.#hold.offer(store, seat))
      .catch(() => undefined)
      .finally(() => this.#asked.delete(store));
  }

  /** Somebody may be missing. */
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

  /** Asks them now. */
  ask(): void {
    const { wanted } = this.#hold;
    if (wanted === undefined) return;
    for (const store of this.#missing) {
      if (this.#asked.has(store)) continue;
      this.expect(store, this.#quorum.health.try(store, wanted, this.#ending.signal));
    }
  }

  end(): void {
    this.#timer?.cancel();
    this.#ending.abort();
  }

  get #missing(): readonly Store[] {
    return this.#quorum.stores.filter((store) => !this.#hold.has(store));
  }
}
