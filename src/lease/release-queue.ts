import type { Clock } from '../clock.js';
import { sleepUntil } from '../clock.js';
import type { Seats } from '../protocol/seats.js';
import { tokenGivenBack } from '../protocol/wake.js';
import type { Combiner } from '../store/combiner.js';

/** A seat or a place that may be ours and is not wanted. */
export interface Leftover {
  readonly name: string;
  readonly seats: Seats;
  readonly id: string;
  /** When it will have ended by itself, and trying is of no use any more. */
  readonly untilMs: number;
  /** When to leave once more, because a request that was not answered may have arrived after the first leave. */
  readonly againAtMs?: number | undefined;
}

/** How giving back ended: the token of the lease, 0 if there was none, `undefined` if nobody could tell. */
export type GivenBack = number | undefined;

const FIRST_PAUSE_MS = 50;
const MAX_PAUSE_MS = 2_000;

/**
 * Gives back what is not wanted any more, and goes on trying until the store confirms it or the lease has ended by
 * itself. Leaving is repeatable: it names one attempt, and whoever is gone stays gone (S5).
 */
export class ReleaseQueue {
  readonly #combiner: Combiner;
  readonly #clock: Clock;
  readonly #leftovers = new Map<string, Promise<GivenBack>>();
  #closed = false;

  constructor(combiner: Combiner, clock: Clock) {
    this.#combiner = combiner;
    this.#clock = clock;
  }

  giveBack(leftover: Leftover): Promise<GivenBack> {
    const { id, againAtMs } = leftover;
    const running = this.#leftovers.get(id);
    if (running !== undefined) return running;
    const settled = this.#giveBack(leftover).finally(() => {
      this.#leftovers.delete(id);
      if (againAtMs !== undefined) void this.#giveBackAgain(leftover, againAtMs);
    });
    this.#leftovers.set(id, settled);
    return settled;
  }

  /** Resolves when everything has been given back. */
  async drained(): Promise<void> {
    while (this.#leftovers.size > 0) await Promise.all(this.#leftovers.values());
  }

  /** Stops trying; what is left ends with its lease. */
  close(): void {
    this.#closed = true;
  }

  async #giveBackAgain(leftover: Leftover, atMs: number): Promise<void> {
    await sleepUntil(this.#clock, atMs);
    if (!this.#closed) await this.#giveBack(leftover);
  }

  async #giveBack({ name, seats, id, untilMs }: Leftover): Promise<GivenBack> {
    let mayHaveLeft = false;
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, MAX_PAUSE_MS)) {
      const outcome = await this.#combiner.submit(name, seats, { type: 'leave', id }).outcome;
      if (outcome.type === 'done') {
        // No word: what is stored there now is no lock of this kind, and the lease is not in it.
        const token = tokenGivenBack(outcome.value.wake, id) ?? 0;
        // That there is nothing now tells nothing, if an earlier leave may have been the one that took it.
        return token === 0 && mayHaveLeft ? undefined : token;
      }
      if (outcome.type === 'refused' && !outcome.byServer) return undefined;
      mayHaveLeft ||= outcome.type === 'unknown' && outcome.maybeApplied;
      const nextMs = this.#clock.nowMs() + pauseMs * (0.5 + Math.random() / 2);
      if (this.#closed || nextMs >= untilMs) return undefined;
      await sleepUntil(this.#clock, nextMs);
    }
  }
}
