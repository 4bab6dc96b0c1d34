import { within } from '../clock.js';
import type { LeaseContext } from '../lease/acquiring/lease-context.js';
import { storedLeaseMs } from '../options/provider-options.js';
import type { LeaseDurations } from '../options/provider-options.js';
import { electionRules } from '../protocol/kinds/election-rules.js';
import { STORED_WAITERS, all, equal, isLive, literal, filter } from '../protocol/expressions.js';
import type { Fields } from '../protocol/expressions.js';
import { gaveBackLease } from '../protocol/wake.js';
import { isAnswered, settle } from '../store/settle.js';
import { unavailable } from '../store/unavailable.js';
import type { TermHandle } from './term-handle.js';

/** The most copies of a hand-over. If none of them is answered, the seat is given back instead. */
const MAX_COPIES = 5;

/**
 * Ends a term in a way other than a plain release: the leader gives the seat to another candidate, or leaves the seat
 * taken while work is running.
 */
export class TermHandOver {
  readonly #context: LeaseContext;
  readonly #term: TermHandle;
  readonly #durations: LeaseDurations;

  constructor(context: LeaseContext, term: TermHandle, durations: LeaseDurations) {
    this.#context = context;
    this.#term = term;
    this.#durations = durations;
  }

  /**
   * Whether the candidate `candidateId` has a live place in the queue. The leader reads this before it tells the work
   * of its term to end.
   */
  async isPossible(candidateId: string): Promise<boolean> {
    const { collection } = this.#context;
    const { name } = this.#term;
    const isMeant = all(equal('$$this.v.candidateId', literal(candidateId)), isLive('$$this.v.expiresAt'));
    const meant: Fields = { meant: { $size: filter(STORED_WAITERS, isMeant) } };
    const outcome = await collection.read([name], meant, 'majority');
    if (outcome.type !== 'done') throw unavailable(name, true, outcome.error);
    const [document] = outcome.value as readonly { readonly meant: number }[];
    return document !== undefined && document.meant > 0;
  }

  /**
   * Gives the seat to the candidate `candidateId` if that candidate still waits, and otherwise to the first waiter.
   *
   * @param hurried - After this signal has aborted, no further copy of the hand-over is sent. If the seat then has to
   *   be given back, this happens in the background.
   * @returns Whether an answer of the store shows that this call gave the seat to the candidate `candidateId`. A false
   *   result does not prove the contrary, because the answer may be lost.
   */
  async give(candidateId: string, hurried: AbortSignal): Promise<boolean> {
    const { combiner, clock } = this.#context;
    const { name, id, copies } = this.#term;
    this.#term.letExpire();
    const operation = { type: 'handOver', id, candidateId } as const;
    let sent = 0;
    const outcome = await settle(
      () => {
        sent += 1;
        return combiner.submit(name, electionRules, operation).outcome;
      },
      { clock, isSettled: isAnswered, isOver: () => sent === MAX_COPIES, signal: hurried },
    );
    // Only the answer of the copy that was applied proves the hand-over. If an earlier copy is unanswered, and this
    // copy finds the candidate `candidateId` in the seat, a third candidate may have led in between.
    if (outcome.type === 'done' && gaveBackLease(outcome.value.wake, id) === true) {
      // A late copy of the request that got this term may still arrive, and queue this process behind the new leader.
      // `giveBack` also removes the place that this late copy takes.
      if (copies?.mayArrive === true) void this.giveBack();
      return true;
    }
    const left = this.giveBack();
    if (!hurried.aborted) await left;
    return false;
  }

  /**
   * Stops the extensions of a term whose work outlives its drain. The operation `ask` marks the lease as ending. So
   * this candidate cannot use the transition of the election to return to the seat before the other candidates.
   */
  leaveTaken(): void {
    const { name, id } = this.#term;
    this.#term.letExpire();
    void this.#context.combiner.submit(name, electionRules, { type: 'ask', ids: [id] }).outcome;
  }

  /**
   * Gives back the seat, also after `leaveTaken`. If the store does not answer within `storeTimeoutMs`, the method
   * resolves, and the repeats continue in the background.
   */
  async giveBack(): Promise<void> {
    const { releases, clock, settings } = this.#context;
    const { name, id, copies } = this.#term;
    const untilMs = clock.nowMs() + storedLeaseMs(this.#durations) + settings.storeTimeoutMs;
    const leaving = releases.giveBack({ name, rules: electionRules, id, untilMs, copies });
    await within(clock, settings.storeTimeoutMs, leaving);
  }
}
