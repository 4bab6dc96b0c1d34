import { pauseBeforeRepeat, sleepUntil, within } from '../clock.js';
import type { Clock } from '../clock.js';
import type { AskForClaim } from './job-ledger.js';
import type { ServerTime } from './server-time.js';

/** The server's clock may be wrong for a moment: one that said it was too early is asked again after so long at most. */
const ASK_AGAIN_MS = 5_000;

/** After what should not be: a claim that was refused, or a store that does not say what was claimed. */
export const RETRY_MS = 200;

/** After a failure that a repeat will hardly mend. */
const AFTER_FAILURE_MS = 1_000;

/** What asking for one claim needs. */
export interface Claiming {
  readonly clock: Clock;
  readonly time: ServerTime;
  readonly instantMs: number;
  readonly ask: AskForClaim;
  /** Aborts when no run may begin any more. */
  readonly over: AbortSignal;
  /** Aborts when there is no more time to ask. */
  readonly givingUp: AbortSignal;
  readonly failed: (error: Error) => void;
}

/** What has become of a claim. */
export type Settled = 'granted' | 'refused' | 'failed' | 'unknown';

/**
 * Asks for a claim until it is settled, also after the term.
 *
 * - `granted`: the instant is this term's to start.
 * - `refused`: no copy of the claim has taken effect, or will.
 * - `unknown`: a copy may have taken effect. The time to ask was up; or another leader has claimed since, and what it
 *   claimed hides the answer.
 * - `failed`: as `refused`, by a store that may grant the next one.
 */
export async function settleClaim(claiming: Claiming): Promise<Settled> {
  const { clock, time, instantMs, ask, over, givingUp, failed } = claiming;
  let isAnyUnanswered = false;
  for (let repeats = 0; ; repeats += 1) {
    const answer = (await within(clock, Infinity, ask(), givingUp)) ?? 'unknown';
    if (answer === 'claimed') return 'granted';
    if (answer === 'outdated' || answer === 'deposed' || answer === 'uncalled') {
      await sleepUntil(clock, clock.nowMs() + RETRY_MS, over);
      return answer === 'outdated' && isAnyUnanswered ? 'unknown' : 'refused';
    }
    if (answer === 'unknown') {
      isAnyUnanswered = true;
      await pauseBeforeRepeat(clock, repeats, givingUp);
    } else if (answer === 'early') {
      // The server's clock is behind what was thought; by its answer it is known when it will be time.
      await sleepUntil(clock, Math.min(time.toLocalMs(instantMs), clock.nowMs() + ASK_AGAIN_MS), over);
      if (over.aborted) return isAnyUnanswered ? 'unknown' : 'refused';
    } else {
      failed(answer);
      await sleepUntil(clock, clock.nowMs() + AFTER_FAILURE_MS, isAnyUnanswered ? givingUp : over);
      // A copy that has no answer may still take effect: only a repeat under the same id tells.
      if (!isAnyUnanswered) return 'failed';
    }
    if (givingUp.aborted) return 'unknown';
  }
}
