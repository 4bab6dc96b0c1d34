import { sleepUntil, within } from '../clock.js';
import type { Clock } from '../clock.js';
import { settle } from '../store/settle.js';
import type { AskForClaim, ClaimAnswer } from './job-ledger.js';
import type { ServerTime } from './server-time.js';

/** The longest pause after the answer `early`, because a wrong clock of the server may be corrected soon. */
const ASK_AGAIN_MS = 5_000;

/** The pause after a refused claim, or after a failed read of the claims. Neither is expected. */
export const AFTER_ANOMALY_MS = 200;

/** The pause after a claim that failed with an error. An immediate repeat would probably fail as well. */
const AFTER_FAILURE_MS = 1_000;

export interface Claiming {
  readonly clock: Clock;
  readonly time: ServerTime;
  readonly instantMs: number;
  readonly ask: AskForClaim;
  /** Aborts when no run may begin any more. */
  readonly over: AbortSignal;
  /** Aborts when the store must not be asked any more. */
  readonly givingUp: AbortSignal;
  readonly failed: (error: Error) => void;
}

/** `settleClaim` describes these outcomes. */
export type Settled = 'granted' | 'refused' | 'failed' | 'unknown';

/**
 * Repeats a claim until its outcome is known or `givingUp` aborts. While a copy is unanswered, the repeats go on after
 * the end of the term.
 *
 * - `granted`: this term may start the run of the instant.
 * - `refused`: no copy of the claim has taken effect or will. Before its next claim, the term has to read the state of
 *   the job again.
 * - `failed`: the claim ended with an error. No copy has taken effect or will. The term still knows the state of the
 *   job.
 * - `unknown`: a copy may have taken effect, or may still do so. The cause is one of three: `givingUp` has aborted;
 *   another leader has claimed since, which hides whether this claim took effect; or `over` has aborted before the
 *   server's clock reached the instant.
 */
export async function settleClaim(claiming: Claiming): Promise<Settled> {
  const { clock, time, instantMs, ask, over, givingUp, failed } = claiming;
  const copies = { isAnyUnanswered: false };
  const send = async (): Promise<ClaimAnswer> => {
    const answer = (await within(clock, Infinity, ask(), givingUp)) ?? 'unknown';
    copies.isAnyUnanswered ||= answer === 'unknown';
    return answer;
  };
  const isSettled = (answer: ClaimAnswer): boolean => answer !== 'unknown';
  for (;;) {
    const answer = await settle(send, { clock, isSettled, signal: givingUp });
    if (answer === 'unknown') return 'unknown';
    if (answer === 'claimed') return 'granted';
    if (answer === 'outdated' || answer === 'deposed' || answer === 'uncalled') {
      await sleepUntil(clock, clock.nowMs() + AFTER_ANOMALY_MS, over);
      return answer === 'outdated' && copies.isAnyUnanswered ? 'unknown' : 'refused';
    }
    if (answer === 'early') {
      // The server's clock is behind the estimate. The answer has corrected the estimate, so the time to wait is known.
      await sleepUntil(clock, Math.min(time.toLocalMs(instantMs), clock.nowMs() + ASK_AGAIN_MS), over);
      if (over.aborted) return copies.isAnyUnanswered ? 'unknown' : 'refused';
    } else {
      failed(answer);
      await sleepUntil(clock, clock.nowMs() + AFTER_FAILURE_MS, copies.isAnyUnanswered ? givingUp : over);
      // An unanswered copy may still take effect. Only a repeat with the same claim id can tell whether it has.
      if (!copies.isAnyUnanswered) return 'failed';
    }
    if (givingUp.aborted) return 'unknown';
  }
}
