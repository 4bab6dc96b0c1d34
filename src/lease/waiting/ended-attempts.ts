import type { SeatRules } from '../../protocol/seats.js';

/** The most attempts that are remembered; the oldest is forgotten first. */
const MAX_REMEMBERED = 4_096;

/** What is needed to give back the seat of an attempt. */
interface Ended {
  readonly seats: SeatRules;
  readonly leaseMs: number;
}

/** The attempts that ended without a lock. If a grant to one of them still arrives, the granted seat is given back. */
export class EndedAttempts {
  readonly #ended = new Map<string, Ended>();

  add(id: string, ended: Ended): void {
    this.#ended.set(id, ended);
    if (this.#ended.size <= MAX_REMEMBERED) return;
    const [oldest = id] = this.#ended.keys();
    this.#ended.delete(oldest);
  }

  /**
   * Forgets the attempt, and returns what is needed to give back its seat; `undefined`: the attempt is not remembered.
   */
  take(id: string): Ended | undefined {
    const ended = this.#ended.get(id);
    this.#ended.delete(id);
    return ended;
  }

  clear(): void {
    this.#ended.clear();
  }
}
