import type { HoldRecord, History } from './history.js';
import type { Takeover } from './takeover.js';

/** Something that must be true of what was shown, and what speaks for it or against it. */
export interface Verdict {
  readonly claim: string;
  readonly evidence: string;
  readonly isTrue: boolean;
}

export function judge(
  history: History,
  { afterLeaseMs }: Takeover,
  wronglyEnded: readonly string[],
): readonly Verdict[] {
  const count = history.holds.length;
  const wasLate = afterLeaseMs !== undefined && afterLeaseMs >= 0;
  const seen = afterLeaseMs === undefined ? 'nobody saw both leases' : `${afterLeaseMs} ms after it`;
  return [
    against(
      'no overlap',
      history.findOverlap(),
      `${count} intervals in which a process believed to hold, on one monotonic clock`,
    ),
    against(
      'tokens strictly rising',
      history.findFallingTokens(),
      `${count} tokens in the order of the grants`,
    ),
    {
      claim: 'takeover not before the end of the lease',
      evidence: `${seen}, by the server's clock`,
      isTrue: wasLate,
    },
    {
      claim: 'all workers have ended',
      evidence: wronglyEnded.length === 0 ? 'by themselves, but for the one killed' : wronglyEnded.join('; '),
      isTrue: wronglyEnded.length === 0,
    },
  ];
}

/** True unless there is a pair of holds that speaks against it. */
function against(
  claim: string,
  pair: readonly [HoldRecord, HoldRecord] | undefined,
  evidence: string,
): Verdict {
  if (pair === undefined) return { claim, evidence, isTrue: true };
  const [before, after] = pair;
  const intoMs = (before.endedMs ?? Infinity) - after.grantedMs;
  const overlap = intoMs > 0 ? `, held for ${intoMs.toFixed(1)} ms by both` : '';
  const where = `${before.worker} with ${before.token}, then ${after.worker} with ${after.token}`;
  return { claim, evidence: `${where}${overlap}`, isTrue: false };
}
