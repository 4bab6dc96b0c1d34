import type { Violation } from '../../faults/verdict.js';
import type { Change } from '../../judge/oplog-entry.js';
import type { CallForRun, JobHistory, JobRun } from './job-checker.js';
import type { When, WhenOf } from './server-time.js';
import { claimOf, claimsIn, numbersIn } from './stored-claims.js';
import type { Claimed } from './stored-claims.js';

const CHECKER = 'calls';

/** How much later than the leader thinks a run may have ended by the server's clock: by messages on their way. */
const ESTIMATE_MS = 50;

interface Times {
  readonly when: WhenOf;
  /** By how much the wall clock, which tells the instants, is ahead of the clock of the runs. */
  readonly aheadMs: number;
  /** Whether a fault happened between the two, or shortly before. */
  readonly isDisturbed: (fromMs: number, untilMs: number) => boolean;
}

/**
 * S1: each stored call is one `runNow` of a process, and calls that are stored while one is pending share its run. A
 * claim that answers no call is of an instant of the schedule. R2: a `runNow` that is answered has seen the claim of its
 * run.
 */
export function* checkCalls(
  history: JobHistory,
  changes: readonly Change[],
  times: Times,
): Iterable<Violation> {
  const { when } = times;
  const claims = claimsIn(changes);
  for (const change of changes) yield* takenByClaims(change);
  yield* storedWithoutCall(changes, history.calls, when);
  yield* answeredWithoutClaim(history.calls, claims, when);
  yield* outOfTurn(history, claims, times);
}

/** Only a claim takes a call, and it takes the last one, which is pending. */
function* takenByClaims({ name, before, after }: Change): Iterable<Violation> {
  const [was, is] = [numbersIn(before), numbersIn(after)];
  if (after === null || is.claimed === was.claimed) return;
  const shown = `${name}: call ${is.claimed}`;
  if (claimOf(before)?.claimId === claimOf(after)?.claimId)
    yield violation('S1', `${shown} counts as claimed, and no claim is stored with it`);
  // An update may have added another call after the claim.
  if (is.claimed !== is.asked && is.claimed !== was.asked)
    yield violation('S1', `${shown} is claimed, and the last call is ${is.asked}`);
}

/** One `runNow` stores at most one call, at some time between its beginning and its answer, and before its `until`. */
function* storedWithoutCall(
  changes: readonly Change[],
  calls: readonly CallForRun[],
  when: WhenOf,
): Iterable<Violation> {
  const unused = new Set(calls.toSorted((a, b) => lastMsOf(a) - lastMsOf(b)));
  for (const { name, before, after, wallMs } of changes) {
    const [was, is] = [numbersIn(before), numbersIn(after)];
    if (after === null || is.asked <= was.asked) continue;
    const at = when(wallMs);
    const stored = `${name}: call ${is.asked} is stored at ${at.latestMs.toFixed(1)} ms`;
    if (is.asked !== was.asked + 1) yield violation('S1', `${stored}, and the last one was ${was.asked}`);
    if (is.untilMs <= wallMs)
      yield violation('S1', `${stored}, after the time until which it may be claimed`);
    // The one that ends first can be meant by the fewest later calls.
    const its = [...unused].find((call) => call.fromMs <= at.latestMs && at.earliestMs <= lastMsOf(call));
    if (its === undefined) yield violation('S1', `${stored}, and no process has asked for that`);
    else unused.delete(its);
  }
}

/** A copy without an answer may come later than the error. */
const lastMsOf = ({ answer }: CallForRun): number =>
  answer === undefined || answer.code === 'STORE_UNAVAILABLE' ? Infinity : answer.atMs;

function* answeredWithoutClaim(
  calls: readonly CallForRun[],
  claims: readonly Claimed[],
  when: WhenOf,
): Iterable<Violation> {
  const answering = claims.flatMap(({ call, wallMs }): When[] => (call === undefined ? [] : [when(wallMs)]));
  for (const { worker, fromMs, answer } of calls) {
    if (answer === undefined || answer.code !== undefined) continue;
    if (answering.some((at) => fromMs <= at.latestMs && at.earliestMs <= answer.atMs)) continue;
    const times = `from ${fromMs.toFixed(1)} to ${answer.atMs.toFixed(1)} ms`;
    yield violation('R2', `runNow of worker ${worker} is answered (${times}), and no run was claimed for it`);
  }
}

/** The claims that answer no call, and are no instants of the schedule. */
function* outOfTurn(history: JobHistory, claims: readonly Claimed[], times: Times): Iterable<Violation> {
  const { schedule, everyMs } = history;
  const uncalled = claims.filter(({ call }) => call === undefined);
  if (schedule === 'fixed-delay') {
    const instants = new Set(uncalled.map(({ instantMs }) => instantMs));
    for (const { worker, firedAtMs, fromMs } of tooEarly(history, times)) {
      if (!instants.has(firedAtMs)) continue;
      const shown = `worker ${worker} runs at ${fromMs.toFixed(1)} ms for ${firedAtMs}`;
      yield violation('S1', `${shown}, too soon after the run before, and answers no call`);
    }
    return;
  }
  const firstMs = claims[0]?.anchorMs;
  for (const { instantMs, anchorMs } of claims) {
    if (anchorMs !== firstMs)
      yield violation(
        'S1',
        `the claim of ${instantMs} counts from ${anchorMs}, and the first one from ${firstMs ?? ''}`,
      );
  }
  for (const { instantMs, anchorMs } of uncalled) {
    const offMs = (instantMs - (schedule === 'cron' ? 0 : anchorMs)) % everyMs;
    if (offMs === 0) continue;
    yield violation('S1', `the claim of ${instantMs} is ${offMs} ms off the schedule, and answers no call`);
  }
}

/** The runs that come sooner than the delay after the end of the run before; for another leader, after its instant. */
function tooEarly({ runs, everyMs }: JobHistory, { aheadMs, isDisturbed }: Times): readonly JobRun[] {
  const inOrder = runs.toSorted((a, b) => a.firedAtMs - b.firedAtMs);
  return inOrder.filter((run, index) => {
    const before = inOrder[index - 1];
    if (before === undefined) return false;
    // A late reply makes the leader think that it is earlier by the server's clock.
    const isEndKnown = before.token === run.token && !isDisturbed(before.fromMs, run.fromMs);
    const endMs = isEndKnown ? before.untilMs + aheadMs - ESTIMATE_MS : -Infinity;
    return run.firedAtMs < Math.max(before.firedAtMs, endMs) + everyMs;
  });
}

const violation = (invariant: Violation['invariant'], what: string): Violation => ({
  ...{ invariant, checker: CHECKER },
  what,
});
