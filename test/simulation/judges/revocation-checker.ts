import type { Violation } from '../../faults/verdict.js';
import type { Change } from '../../judge/oplog-entry.js';
import { STORE_TIMEOUT_MS } from '../world/simulated-worker.js';
import type { Evidence } from '../world/world.js';
import { asksOf } from '../../judge/asks.js';
import type { Ask } from '../../judge/asks.js';
import { clockOf } from '../../judge/run-clock.js';
import type { RunClock } from '../../judge/run-clock.js';
import { sameGrantIn } from './interventions.js';
import { termsOfJob } from './job-terms.js';
import { callsIn } from './operator-calls.js';
import type { OperatorCall } from './operator-calls.js';
import { effectsIn, isHoldOf, mayBeOwnMark } from './operator-effects.js';
import type { Effect } from './operator-effects.js';
import { checkAnswers } from './revocation-answers.js';
import { checkReliance, checkTold, hearingsIn, metBy } from './revocation-news.js';
import type { Hearing } from './revocation-news.js';
import type { WhenOf } from './server-time.js';
import { versionOf } from './parsed-versions.js';

const CHECKER = 'revocations';

/** What operators did, and which holders had to hear of it. */
export interface Revocations {
  readonly effects: readonly Effect[];
  readonly hearings: readonly Hearing[];
  readonly violations: readonly Violation[];
}

/**
 * S5: leases are marked or evicted, and limits change, only by calls of operators, and no marked lease is extended. R2: a
 * call does what it says. S2: no holder counts on an evicted lease after its end. L4: holders hear of a revocation in time
 * where no fault happens.
 */
export function judgeRevocations(evidence: Evidence, stored: StoredChanges, when: WhenOf): Revocations {
  const { steps, mayVanish, ...all } = stored;
  const effects = effectsIn(steps, when);
  const met = evidence.plan.operations === undefined ? [] : metBy(effects, evidence);
  const hearings = hearingsIn(met, evidence);
  const violations = [
    ...checkEffects(evidence, { ...all, steps, effects, hearings, when }),
    // An old copy brings evicted leases back.
    ...(mayVanish ? [] : checkReliance(met, evidence)),
  ];
  return { effects, hearings, violations };
}

/** The changes of the lock documents, and which of them put an old copy there. */
interface StoredChanges {
  readonly changes: readonly Change[];
  /** Those that the library made. */
  readonly steps: readonly Change[];
  readonly restored: ReadonlySet<Change>;
  readonly mayVanish: boolean;
}

interface Seen extends Omit<Revocations, 'violations'>, Omit<StoredChanges, 'mayVanish'> {
  readonly when: WhenOf;
}

function* checkEffects(
  evidence: Evidence,
  { changes, steps, restored, effects, hearings, when }: Seen,
): Iterable<Violation> {
  const calls = callsIn(evidence);
  const unexplained = effects.filter((effect) => !calls.some((call) => mayExplain(call, effect, evidence)));
  if (unexplained.length > 0) yield* unasked(unexplained, calls, evidence);
  for (const change of steps) yield* extendedAfterMark(change);
  if (evidence.plan.operations === undefined) return;
  yield* checkAnswers(calls, changes, { when, run: evidence.history.run, restored });
  yield* checkTold(hearings, { evidence, effects, calls });
}

function* unasked(
  effects: readonly Effect[],
  calls: readonly OperatorCall[],
  evidence: Evidence,
): Iterable<Violation> {
  const clock = clockOf(evidence.history);
  const asks = [...asksOf(evidence.history, clock), ...termsOfJob(evidence, clock)];
  const known = { calls, clock, evidence, asks };
  for (const effect of effects) {
    if (mayBeOwnMark(effect) && isOwnMark(effect, known)) continue;
    yield violation('S5', `${shown(effect)}, and no operator has asked for that`);
  }
}

interface Known {
  readonly calls: readonly OperatorCall[];
  readonly asks: readonly Ask[];
  readonly clock: RunClock;
  readonly evidence: Evidence;
}

/** A leader marks its own lease only after it has begun to end its term. A term without a run is not known. */
function isOwnMark(effect: Effect, { calls, asks, clock, evidence }: Known): boolean {
  const term = asks.find((asked) => isHoldOf(asked, effect));
  if (term === undefined) {
    return !calls.some((call) => mayExplain(call, { ...effect, by: call.process }, evidence));
  }
  const { termEndsNs } = term;
  return termEndsNs !== undefined && Number(clock.atNs(termEndsNs)) / 1e6 <= effect.when.latestMs;
}

/** Whether this call may have had this effect. The request of a call without an answer may come late. */
function mayExplain(call: OperatorCall, effect: Effect, evidence: Evidence): boolean {
  const { lease, when } = effect;
  if (call.does !== effect.does || call.lock !== effect.lock || call.fromMs > when.latestMs) return false;
  if (call.does === 'resize') {
    return call.limit === effect.limit && when.earliestMs <= lastMsOfResize(call, evidence);
  }
  if (lease === undefined || effect.by !== call.process) return false;
  if (call.id !== undefined && call.id !== lease.id) return false;
  const { atMs = Infinity, isDone = false } = call.answer ?? {};
  // A call names the holds that it has read, so it concerns none that is granted later.
  const grantedMs = lease.acquiredAt.getTime() - evidence.aheadMs - (when.latestMs - when.earliestMs);
  return grantedMs <= atMs && (!isDone || when.earliestMs <= atMs);
}

/** A copy that was not answered does nothing after its not-after, by the server's clock. */
function lastMsOfResize({ answer, worker }: OperatorCall, { history, plan }: Evidence): number {
  if (answer?.isDone === true) return answer.atMs;
  const killed = history.run.find((line) => line.type === 'worker killed' && line.worker === worker);
  const sentMs = answer?.atMs ?? Number(killed?.atNs ?? Infinity) / 1e6;
  return sentMs + STORE_TIMEOUT_MS + plan.clockAllowanceMs;
}

function* extendedAfterMark({ name, before, after }: Change): Iterable<Violation> {
  const [was, is] = [versionOf(before), versionOf(after)];
  for (const lease of was.leases) {
    const later = lease.ending === true ? sameGrantIn(is, lease) : undefined;
    if (later === undefined) continue;
    if (later.ending !== true) yield violation('S5', `${name}: ${lease.id} is not marked as ending any more`);
    if (later.expiresAt > lease.expiresAt)
      yield violation('S5', `${name}: ${lease.id} is extended, although it is marked as ending`);
  }
}

const DEEDS = { ask: 'is marked as ending', evict: 'is evicted', resize: 'has another limit' } as const;

const shown = ({ does, lock, when, lease, by, limit }: Effect): string =>
  `${lock}: ${lease === undefined ? `${limit ?? ''}` : lease.id} ${DEEDS[does]} at ${when.latestMs} ms by ${by ?? 'nobody'}`;

const violation = (invariant: Violation['invariant'], what: string): Violation => ({
  ...{ invariant, checker: CHECKER },
  what,
});
