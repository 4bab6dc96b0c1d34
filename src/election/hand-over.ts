import { pauseBeforeRepeat } from '../clock.js';
import { StoreUnavailableError } from '../errors.js';
import type { AcquisitionContext } from '../lease/attempt.js';
import { electionSeats } from '../protocol/election-seats.js';
import { tokenGivenBack } from '../protocol/wake.js';
import type { TermHandle } from './term-handle.js';

/** How often a hand-over is repeated whose outcome is unknown. */
const MAX_REPEATS = 5;

/** What is done with the seat of a term, other than giving it back. */
export class HandOver {
  readonly #context: AcquisitionContext;
  readonly #term: TermHandle;
  readonly #leaseMs: number;

  constructor(context: AcquisitionContext, term: TermHandle, leaseMs: number) {
    this.#context = context;
    this.#term = term;
    this.#leaseMs = leaseMs;
  }

  /** Whether that candidate waits. Asked before the work of the term is ended for its sake. */
  async isPossible(candidateId: string): Promise<boolean> {
    const { collection } = this.#context;
    const { name } = this.#term;
    const waits = { waiting: { $objectToArray: '$queue' } };
    const outcome = await collection.read([name], waits, 'majority');
    if (outcome.type !== 'done') throw new StoreUnavailableError(name, true, outcome.error);
    const [document] = outcome.value as readonly { waiting: readonly { v: { candidateId?: unknown } }[] }[];
    return document?.waiting.some(({ v }) => v.candidateId === candidateId) === true;
  }

  /**
   * Gives it to that candidate, if it still waits, or else to the first in line.
   *
   * @returns Whether the candidate has it. A repeat whose first copy took effect finds the candidate in the seat.
   */
  async give(candidateId: string): Promise<boolean> {
    const { combiner, clock } = this.#context;
    const { name, id } = this.#term;
    this.#term.letExpire();
    const operation = { type: 'handOver', id, candidateId } as const;
    for (let repeats = 0; repeats < MAX_REPEATS; repeats += 1) {
      const outcome = await combiner.submit(name, electionSeats, operation).outcome;
      if (outcome.type === 'done') {
        const { wake, reply } = outcome.value;
        if ((tokenGivenBack(wake, id) ?? 0) > 0) return true;
        // Of a repeat; but the seat may still be this term's own, and the candidate one of the same name.
        if (reply?.leases.some((lease) => lease.id !== id && lease.candidateId === candidateId) === true)
          return true;
        break;
      }
      if (outcome.type === 'refused') break;
      await pauseBeforeRepeat(clock, repeats);
    }
    await this.#leave();
    return false;
  }

  /**
   * The work goes on though the term has ended: the seat stays until the lease is over, and the mark keeps the candidate
   * from returning to it before the others.
   */
  keep(): void {
    const { name, id } = this.#term;
    this.#term.letExpire();
    void this.#context.combiner.submit(name, electionSeats, { type: 'ask', ids: [id] }).outcome;
  }

  async #leave(): Promise<void> {
    const { releases, clock, settings } = this.#context;
    const { name, id } = this.#term;
    const untilMs = clock.nowMs() + this.#leaseMs + settings.storeTimeoutMs;
    await releases.giveBack({ name, seats: electionSeats, id, untilMs, againAtMs: undefined });
  }
}
