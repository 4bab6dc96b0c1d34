import type { Clock } from '../../clock.js';
import { pauseBeforeRepeat, sleepUntil } from '../../clock.js';
import type { Seats } from '../../protocol/seats.js';
import { tokenGivenBack } from '../../protocol/wake.js';
import type { Combiner } from '../../store/updates/combiner.js';
import type { UnansweredCopies } from '../../store/unanswered-copies.js';

/** A seat or a place that this process may have and does not want. */
export interface Leftover {
  readonly name: string;
  readonly seats: Seats;
  readonly id: string;
  /** When the lease or place has surely expired, so that giving it back is pointless. */
  readonly untilMs: number;
  /** The unanswered copies of its request; `undefined` if the caller knows of none. */
  readonly copies?: UnansweredCopies | undefined;
}

/** What an answered leave found. */
export interface LeaveResult {
  /** The token of the removed lease; 0 if there was no lease, `undefined` if that is unknown. */
  readonly token: number | undefined;
  /** The server's time of the leave; `undefined` if there was no document. */
  readonly nowMs: number | undefined;
  /** The stored records of revocations, unchecked; `revocationOf` reads them. */
  readonly revoked: unknown;
}

const FIRST_PAUSE_MS = 50;
const MAX_PAUSE_MS = 2_000;

/**
 * Gives back seats and places, and repeats until the store confirms it or the lease has expired. A leave can be
 * repeated safely: it names one attempt, and removing the same attempt twice changes nothing (S5).
 *
 * One hazard remains: an unanswered copy of the request may arrive after the leave (E2). So a leave is final only after
 * the not-after of every such copy, by the server's clock, and the queue sends it once more then.
 */
export class ReleaseQueue {
  readonly #combiner: Combiner;
  readonly #clock: Clock;
  readonly #leftovers = new Map<string, Promise<LeaveResult | undefined>>();
  readonly #repeating = new Set<UnansweredCopies>();
  #closed = false;

  constructor(combiner: Combiner, clock: Clock) {
    this.#combiner = combiner;
    this.#clock = clock;
  }

  /** Resolves when the store has confirmed the leave, or with `undefined` when a further try is pointless. */
  async giveBack(leftover: Leftover): Promise<LeaveResult | undefined> {
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

  /** Resolves when everything is given back or given up. */
  async drained(): Promise<void> {
    while (this.#leftovers.size > 0) await Promise.all(this.#leftovers.values());
  }

  /** Stops repeating. What is not given back ends with its lease. */
  close(): void {
    this.#closed = true;
  }

  /** Repeats the leave until it is final: after the not-after of every copy of the request that may still arrive. */
  async #outlast(leftover: Leftover, first: LeaveResult | undefined): Promise<void> {
    const { copies } = leftover;
    if (copies?.mayArrive !== true || this.#repeating.has(copies)) return;
    this.#repeating.add(copies);
    let left = first;
    for (let repeats = 0; left?.nowMs === undefined || !copies.areOver(left.nowMs); repeats += 1) {
      await sleepUntil(this.#clock, copies.overAtMs);
      if (this.#closed) break;
      left = await this.#leave(leftover);
      // No answer while the lease could last. Or there is no document, so only the local clock shows that it is over.
      if (left?.nowMs === undefined) break;
      await pauseBeforeRepeat(this.#clock, repeats);
    }
    this.#repeating.delete(copies);
  }

  async #leave({ name, seats, id, untilMs }: Leftover): Promise<LeaveResult | undefined> {
    let mayHaveApplied = false;
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, MAX_PAUSE_MS)) {
      const outcome = await this.#combiner.submit(name, seats, { type: 'leave', id }).outcome;
      if (outcome.type === 'done') {
        const { wake, nowMs, revoked } = outcome.value;
        // Without a word for this attempt, the document is not a lock of this kind, so the lease is not in it.
        const token = tokenGivenBack(wake, id) ?? 0;
        // An earlier leave without an answer may have removed the lease, so finding none now proves nothing.
        return { token: token === 0 && mayHaveApplied ? undefined : token, nowMs, revoked };
      }
      if (outcome.type === 'refused' && !outcome.byServer) return undefined;
      mayHaveApplied ||= outcome.type === 'unknown' && outcome.maybeApplied;
      const nextMs = this.#clock.nowMs() + pauseMs * (0.5 + Math.random() / 2);
      if (this.#closed || nextMs >= untilMs) return undefined;
      await sleepUntil(this.#clock, nextMs);
    }
  }
}
