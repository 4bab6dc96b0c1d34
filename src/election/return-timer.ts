import type { Timer } from '../clock.js';
import { newNonce } from '../lease/ids.js';
import type { LeaseContext } from '../lease/acquiring/lease-context.js';
import { electionRules } from '../protocol/kinds/election-rules.js';
import { MIN_LEASE_MS } from '../protocol/lock-document.js';
import type { Reply } from '../protocol/replies/reply.js';

/** Added to the delay of a look, so that the transition of the election has begun when the look reaches the server. */
const MARGIN_MS = 20;
const RETRY_MS = 200;

/**
 * During the transition of the election, only a candidate with the `candidateId` of the stored lease may lead. No event
 * tells this candidate that the transition has begun. So the timer sends a look, whose update admits the candidate.
 */
export class ReturnTimer {
  readonly #context: LeaseContext;
  readonly #name: string;
  readonly #candidateId: string;
  #timer: Timer | undefined;

  constructor(context: LeaseContext, name: string, candidateId: string) {
    this.#context = context;
    this.#name = name;
    this.#candidateId = candidateId;
  }

  /**
   * Cancels the timer. Sets a new one only if this reply shows that a lease of the same `candidateId` has the seat, is
   * not ending, and has a transition of the election.
   */
  note({ leases: [lease], nowMs }: Reply): void {
    this.cancel();
    const { candidateId, transitionMs = 0, ending = false } = lease ?? {};
    if (lease === undefined || candidateId !== this.#candidateId || transitionMs === 0 || ending) return;
    this.#lookIn(lease.expiresAt.getTime() - transitionMs - nowMs + MARGIN_MS);
  }

  cancel(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #lookIn(delayMs: number): void {
    const { clock } = this.#context;
    this.#timer = clock.at(clock.nowMs() + Math.max(delayMs, MARGIN_MS), () => void this.#look());
  }

  async #look(): Promise<void> {
    const timer = this.#timer;
    // This look extends no place: only the admission by the update matters.
    const look = {
      type: 'extend',
      ids: [],
      leaseMs: MIN_LEASE_MS,
      retentionMs: 0,
      nonce: newNonce(this.#context.clock),
    } as const;
    const outcome = await this.#context.combiner.submit(this.#name, electionRules, look).outcome;
    if (this.#timer !== timer || timer === undefined || outcome.type === 'refused') return;
    if (outcome.type === 'unknown') this.#lookIn(RETRY_MS);
    else if (outcome.value.reply !== null) this.note(outcome.value.reply);
  }
}
