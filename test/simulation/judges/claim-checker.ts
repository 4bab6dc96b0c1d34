import type { StoredClaim } from '../../../src/protocol/jobs/job-claims.js';
import type { Violation } from '../../faults/verdict.js';
import type { Change } from '../../judge/oplog-entry.js';
import type { JobHistory } from './job-checker.js';

/** One claim, and the instants that it counts for: those after the last claim, and its own. */
interface Claimed {
  readonly instantMs: number;
  readonly afterMs: number;
  readonly anchorMs: number;
  /** The process of the leader. */
  readonly process: string;
  readonly wallMs: number;
}

const CHECKER = 'claims';

/**
 * S1: a run has a stored claim. L1: each instant that a claim counts for runs, or is reported as missed, unless the process
 * that claimed it has died.
 */
export function* checkClaims(
  changes: readonly Change[],
  { runs, missed, everyMs }: JobHistory,
  killed: ReadonlySet<string>,
): Iterable<Violation> {
  const claims = claimsIn(changes);
  const claimed = new Set(claims.map(({ instantMs }) => instantMs));
  for (const { firedAtMs, worker } of runs) {
    if (claimed.has(firedAtMs)) continue;
    yield violation('S1', `worker ${worker} runs for ${firedAtMs}, and no claim of that is stored`);
  }
  const run = new Set(runs.map(({ firedAtMs }) => firedAtMs));
  for (const claim of claims) {
    if (killed.has(claim.process)) continue;
    for (const ms of instantsOf(claim, everyMs)) {
      const isTold = missed.some(({ firstMs, lastMs }) => firstMs <= ms && ms <= lastMs);
      if (run.has(ms) || isTold) continue;
      const what = `the claim of ${claim.instantMs} counts for ${ms}, which has not run and is not reported as missed`;
      yield violation('L1', what);
    }
  }
}

function* instantsOf({ instantMs, afterMs, anchorMs }: Claimed, everyMs: number): Iterable<number> {
  const first = Math.max(0, Math.floor((afterMs - anchorMs) / everyMs) + 1);
  for (let ms = anchorMs + first * everyMs; ms < instantMs; ms += everyMs) yield ms;
  yield instantMs;
}

function claimsIn(changes: readonly Change[]): readonly Claimed[] {
  const claims: Claimed[] = [];
  let [lastId, lastMs]: [string | undefined, number | undefined] = [undefined, undefined];
  for (const { after, wallMs } of changes) {
    const [stored] = (after?.['claims'] ?? []) as readonly StoredClaim[];
    if (stored === undefined || stored.claimId === lastId) continue;
    const [instantMs, anchorMs] = [stored.instant.getTime(), stored.anchor.getTime()];
    const { process = '' } = (after?.['holder'] ?? {}) as { readonly process?: string };
    claims.push({ instantMs, afterMs: lastMs ?? anchorMs - 1, anchorMs, process, wallMs });
    [lastId, lastMs] = [stored.claimId, instantMs];
  }
  return claims;
}

const violation = (invariant: Violation['invariant'], what: string): Violation => ({
  ...{ invariant, checker: CHECKER },
  what,
});
