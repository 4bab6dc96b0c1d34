import { BETWEEN_REPEATS, Backoff } from '../../backoff.js';
import type { Clock } from '../../clock.js';
import { sleepUntil } from '../../clock.js';
import type { KindRules } from '../../protocol/kind-rules.js';
import { gaveBackLease } from '../../protocol/wake.js';
import type { Outcome } from '../../store/outcome.js';
import { settle } from '../../store/settle.js';
import type { Answer, Combiner } from '../../store/updates/combiner.js';
import type { UnansweredCopies } from '../../store/unanswered-copies.js';

/** A seat or a place that this process may have and does not want. */
export interface Leftover {
  readonly name: string;
  readonly rules: KindRules;
  readonly id: string;
  /** The instant at which the lease or place has surely expired. Giving it back has no use after that. */
  readonly untilMs: number;
  /** The unanswered copies of the request for this seat or place; `undefined` if none are known. */
  readonly copies?: UnansweredCopies | undefined;
}

/** The answer to a leave. */
export interface LeaveResult {
  /** Whether the leave removed a lease; `undefined` if that is unknown. */
  readonly foundLease: boolean | undefined;
  /** The server's time of the leave; `undefined` if there was no document, or if the answer does not show the time. */
  readonly nowMs: number | undefined;
  /** The stored records of revocations, unchecked; `revocationOf` reads them. */
  readonly revoked: unknown;
}

/**
 * The pauses between the repeats of a leave. They grow longer than those of other operations, because callers wait for
 * a leave only up to a bound.
 */
const BETWEEN_LEAVES = new Backoff(50, 2_000);

/**
 * Gives back seats and places by leaves. The queue repeats each leave until the store confirms it, the driver refuses
 * it, the lease or place has expired, or the queue is closed. A repeat is safe: a leave names one attempt, and removes
 * nothing once that attempt is gone (S5).
 *
 * A late copy of the request may arrive after the leave and take a seat that no caller uses (E2). So the queue sends
 * the leave again when the not-after of every unanswered copy has passed by the server's clock.
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

  /** Resolves when the store has confirmed the leave, or with `undefined` when the queue has stopped repeating it. */
  async giveBack(leftover: Leftover): Promise<LeaveResult | undefined> {
    const { id } = leftover;
    if (this.#closed) return undefined;
    let leaving = this.#leftovers.get(id);
    if (leaving === undefined) {
      leaving = this.#leave(leftover, false).finally(() => this.#leftovers.delete(id));
      this.#leftovers.set(id, leaving);
    }
    const left = await leaving;
    void this.#outlast(leftover, left);
    return left;
  }

  /** Resolves when no call of `giveBack` is in progress. Does not wait for `#outlast`. */
  async drained(): Promise<void> {
    while (this.#leftovers.size > 0) await Promise.all(this.#leftovers.values());
  }

  /** Stops repeating. A seat or place that was not given back ends when it expires. */
  close(): void {
    this.#closed = true;
  }

  /**
   * Repeats the leave until an answer shows a server time past the not-after of every copy, a repeat finds no document,
   * the leave is given up, or the queue is closed.
   */
  async #outlast(leftover: Leftover, first: LeaveResult | undefined): Promise<void> {
    const { copies } = leftover;
    if (copies?.mayArrive !== true || this.#repeating.has(copies)) return;
    this.#repeating.add(copies);
    let left = first;
    for (let repeats = 0; left?.nowMs === undefined || !copies.areOver(left.nowMs); repeats += 1) {
      await sleepUntil(this.#clock, copies.overAtMs);
      if (this.#closed) break;
      left = await this.#leave(leftover, true);
      // If the server's time is missing, this leave was given up, or found no document. Without a document, only the
      // local clock can show that every copy is over, and `sleepUntil` has waited until the local clock shows this.
      if (left?.nowMs === undefined) break;
      await BETWEEN_REPEATS.pause(this.#clock, repeats);
    }
    this.#repeating.delete(copies);
  }

  async #leave({ name, rules, id, untilMs }: Leftover, isRepeat: boolean): Promise<LeaveResult | undefined> {
    const earlier = { mayHaveApplied: false };
    const send = async (): Promise<Outcome<Answer>> => {
      const outcome = await this.#combiner.submit(name, rules, { type: 'leave', id }, { isRepeat }).outcome;
      isRepeat = true;
      earlier.mayHaveApplied ||=
        outcome.type === 'unknown'
          ? outcome.maybeApplied
          : outcome.type === 'done' && outcome.value.isSecondCopy;
      return outcome;
    };
    const outcome = await settle(send, {
      clock: this.#clock,
      backoff: BETWEEN_LEAVES,
      isSettled: isFinal,
      isOver: () => this.#closed,
      untilMs,
    });
    if (outcome.type !== 'done') return undefined;
    const { wake, nowMs, revoked } = outcome.value;
    // If `wake` has no word for this attempt, there is no valid document of this kind, and so no lease.
    const hadLease = gaveBackLease(wake, id) ?? false;
    // An earlier leave without an answer may have removed the lease. A later leave that finds no lease then proves
    // nothing.
    return { foundLease: !hadLease && earlier.mayHaveApplied ? undefined : hadLease, nowMs, revoked };
  }
}

/**
 * A refusal by the server is not final: the server may accept the leave later, and without a repeat the seat would stay
 * taken until its lease expires.
 */
const isFinal = (outcome: Outcome<Answer>): boolean =>
  outcome.type === 'done' || (outcome.type === 'refused' && !outcome.byServer);
