import type { Clock } from '../../clock.js';
import { pauseBeforeRepeat, sleepUntil } from '../../clock.js';
import type { Seats } from '../../protocol/seats.js';
import { tokenGivenBack } from '../../protocol/wake.js';
import type { Combiner } from '../../store/updates/combiner.js';
import type { UnansweredCopies } from '../../store/unanswered-copies.js';

/** A seat or a place that may be ours and is not wanted. */
export interface Leftover {
  readonly name: string;
  readonly seats: Seats;
  readonly id: string;
  /** When it will have ended by itself, and trying is of no use any more. */
  readonly untilMs: number;
  /** The copies of its request; `undefined`: this process has not sent it. */
  readonly copies?: UnansweredCopies | undefined;
}

/** What a leave that was answered has found. */
export interface Left {
  /** That of the lease; 0 if there was none, `undefined` if nobody can tell. */
  readonly token: number | undefined;
  /** The server's time of the leave; `undefined`: there was no document. */
  readonly nowMs: number | undefined;
  /** The records of revocations, unchecked: for `revocationOf`. */
  readonly revoked: unknown;
}

const FIRST_PAUSE_MS = 50;
const MAX_PAUSE_MS = 2_000;

/**
 * Gives back what is not wanted any more, and goes on trying until the store confirms it or the lease has ended by
 * itself. Leaving is repeatable: it names one attempt, and what is gone stays gone (S5).
 *
 * One exception: a copy of the request that nobody has answered may arrive after the leave. So a leave is final only past
 * the not-after of every such copy, by the server's clock, and is sent once more then.
 */
export class ReleaseQueue {
  readonly #combiner: Combiner;
  readonly #clock: Clock;
  readonly #leftovers = new Map<string, Promise<Left | undefined>>();
  readonly #outlasted = new Set<UnansweredCopies>();
  #closed = false;

  constructor(combiner: Combiner, clock: Clock) {
    this.#combiner = combiner;
    this.#clock = clock;
  }

  /** Resolves when the store has confirmed that nothing is left; with `undefined`, when trying is of no use any more. */
  async giveBack(leftover: Leftover): Promise<Left | undefined> {
    const { id } = leftover;
    if (this.#closed) return undefined;
    let leaving = this.#leftovers.get(id);
    if (leaving === undefined) {
      leaving = this.#leave(leftover).finally(() => this.#leftovers.delete(id));
      this.#leftovers.set(id, leaving);
    }
    const left = await leaving;
    void this.#outlast(leftover, left);
    return left;
  }

  /** Resolves when everything has been given back. */
  async drained(): Promise<void> {
    while (this.#leftovers.size > 0) await Promise.all(this.#leftovers.values());
  }

  /** Stops trying; what is left ends with its lease. */
  close(): void {
    this.#closed = true;
  }

  /** Leaves again until a leave is final: past the time of every copy of the request that may still arrive. */
  async #outlast(leftover: Leftover, first: Left | undefined): Promise<void> {
    const { copies } = leftover;
    if (copies?.mayArrive !== true || this.#outlasted.has(copies)) return;
    this.#outlasted.add(copies);
    let left = first;
    for (let repeats = 0; left?.nowMs === undefined || !copies.areOver(left.nowMs); repeats += 1) {
      await sleepUntil(this.#clock, copies.overAtMs);
      if (this.#closed) break;
      left = await this.#leave(leftover);
      // Not answered while the lease could last; or there is no document, and only the clock here tells that it is over.
      if (left?.nowMs === undefined) break;
      await pauseBeforeRepeat(this.#clock, repeats);
    }
    this.#outlasted.delete(copies);
  }

  async #leave({ name, seats, id, untilMs }: Leftover): Promise<Left | undefined> {
    let mayHaveLeft = false;
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, MAX_PAUSE_MS)) {
      const outcome = await this.#combiner.submit(name, seats, { type: 'leave', id }).outcome;
      if (outcome.type === 'done') {
        const { wake, nowMs, revoked } = outcome.value;
        // No word: what is stored there now is no lock of this kind, and the lease is not in it.
        const token = tokenGivenBack(wake, id) ?? 0;
        // That there is nothing now tells nothing, if an earlier leave may have been the one that took it.
        return { token: token === 0 && mayHaveLeft ? undefined : token, nowMs, revoked };
      }
      if (outcome.type === 'refused' && !outcome.byServer) return undefined;
      mayHaveLeft ||= outcome.type === 'unknown' && outcome.maybeApplied;
      const nextMs = this.#clock.nowMs() + pauseMs * (0.5 + Math.random() / 2);
      if (this.#closed || nextMs >= untilMs) return undefined;
      await sleepUntil(this.#clock, nextMs);
    }
  }
}
