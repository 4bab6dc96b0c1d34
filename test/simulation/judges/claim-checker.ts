import type { Violation } from '../../faults/verdict.js';
import type { Change } from '../../judge/oplog-entry.js';
import type { JobHistory } from './job-checker.js';
import { claimsIn } from './stored-claims.js';
import type { Claimed } from './stored-claims.js';

const CHECKER = 'claims';

/**
 * S1: a run has a stored claim. L1: each instant that a claim counts for runs, or is reported as missed, unless the process
 * that claimed it has died, or the claim was undone: a process that has not heard of its claim finds none then.
 */
export function* checkClaims(
  changes: readonly Change[],
  { runs, missed, everyMs, schedule }: JobHistory,
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
    if (killed.has(claim.process) || claim.isUndone) continue;
    for (const ms of instantsOf(claim, everyMs, schedule)) {
      const isTold = missed.some(({ firstMs, lastMs }) => firstMs <= ms && ms <= lastMs);
      if (run.has(ms) || isTold) continue;
      const what = `the claim of ${claim.instantMs} counts for ${ms}, which has not run and is not reported as missed`;
      yield violation('L1', what);
    }
  }
}

/** By cron, instants do not count from the first one. With a fixed delay, nothing is due before the claimed instant. */
function* instantsOf(
  { instantMs, afterMs, anchorMs: storedMs }: Claimed,
  everyMs: number,
  schedule: JobHistory['schedule'],
): Iterable<number> {
  const anchorMs = { 'fixed-rate': storedMs, 'fixed-delay': instantMs, cron: 0 }[schedule];
  const first = Math.max(0, Math.floor((afterMs - anchorMs) / everyMs) + 1);
  for (let ms = anchorMs + first * everyMs; ms < instantMs; ms += everyMs) yield ms;
  yield instantMs;
}

const violation = (invariant: Violation['invariant'], what: string): Violation => ({
  ...{ invariant, checker: CHECKER },
  what,
});
