import { Timestamp } from 'mongodb';
import type { Document } from 'mongodb';

import type { StoredDocument, StoredVersion } from '../../../src/testing/index.js';
import type { Violation } from '../../faults/verdict.js';
import { SETS } from '../../faults/workload/messages.js';
import { checkBeliefs } from '../../judge/belief-checker.js';
import type { IsBeyondBounds } from '../../judge/belief-checker.js';
import { beyondBounds } from '../../judge/beyond-bounds.js';
import { checkHandOvers } from '../../judge/hand-over-checker.js';
import { checkLeaks } from '../../judge/leak-checker.js';
import { checkLiveness } from '../../judge/liveness-checker.js';
import type { LivenessBounds } from '../../judge/liveness-checker.js';
import { checkGranted, VersionJudge } from '../../judge/oplog-checker.js';
import type { Grant, Tolerance } from '../../judge/oplog-checker.js';
import type { Change } from '../../judge/oplog-entry.js';
import { PassChecker } from '../../judge/pass-checker.js';
import { checkSets } from '../../judge/set-checker.js';
import type { StoredSet } from '../../judge/set-checker.js';
import { StrictChecker } from '../../judge/strict-checker.js';
import { JOB } from '../world/job-runner.js';
import { DATABASE, LOCKS as COLLECTION, QUORUM_DATABASE } from '../world/names.js';
import { QUORUM_LOCK } from '../world/quorum-actor.js';
import { STORE_TIMEOUT_MS } from '../world/simulated-worker.js';
import type { Evidence } from '../world/world.js';
import { checkCalls } from './call-checker.js';
import { checkFailures } from './failure-checker.js';
import { checkClaims } from './claim-checker.js';
import { checkCursors } from './cursor-checker.js';
import { checkJobs } from './job-checker.js';
import { interventionsIn } from './interventions.js';
import { checkLeftovers } from './leftover-checker.js';
import { checkObservers } from './observer-checker.js';
import { checkQuorumFailures } from './quorum-failure-checker.js';
import { checkQuorumSeats } from './quorum-seat-checker.js';
import { judgeRevocations } from './revocation-checker.js';
import type { Revocations } from './revocation-checker.js';
import { beyondRestores, mayVanishIn, restoredIn } from './restored-copies.js';
import { whenIn } from './server-time.js';
import { checkSilentLeaders } from './silent-leader-checker.js';
import { overlapNs, overlaps } from '../../judge/overlap.js';
import { disturbances, faultSpans, ofSet } from './spans.js';
import { claimCounts } from './stored-claims.js';

export interface Judgement {
  readonly violations: readonly Violation[];
  /** The grants of the locks that are in one replica set. */
  readonly grants: readonly Grant[];
  readonly versions: number;
  /** The versions of the lock documents in the first replica set, apart from those of a quorum. */
  readonly changes: readonly Change[];
  /** Those that put an old copy of a document there. */
  readonly restored: ReadonlySet<Change>;
  readonly revocations: Revocations;
}

/** No machine is busy, so a timer is late by nothing, and an answer only by what is on its way. */
const LIVENESS = { boundMs: 60_000, lostSlackMs: 1 };

/** By how much a timed request may be late: by some messages, or by the answers that a fault keeps away. */
const [UNDISTURBED_MS, DISTURBED_MS] = [20, 4_000];

/** The liveness bounds of this run. */
function livenessIn(run: Evidence['history']['run']): LivenessBounds {
  const faults = disturbances(run);
  return {
    ...LIVENESS,
    slackMs: (askedNs, answeredNs) => (overlaps(faults, askedNs, answeredNs) ? DISTURBED_MS : UNDISTURBED_MS),
  };
}

/** How late a grant may be heard of where nothing is harmed: a lost reply costs a store timeout. */
const PROMPT_MS = 2_500;

const LOCKS = `${DATABASE}.${COLLECTION}`;
const QUORUM_LOCKS = `${QUORUM_DATABASE}.${COLLECTION}`;

/** Judges a run of the simulation by the judges of the runs on real servers. */
export function judgeRun(evidence: Evidence): Judgement {
  const { plan, jobs, aheadMs } = evidence;
  const changes = changesOf(evidence.versions[0] ?? [], LOCKS);
  const quorumChanges = evidence.versions.map((each) => changesOf(each, QUORUM_LOCKS));
  const vanishing = evidence.versions.map((_, set) => mayVanishIn(evidence.history.run, set));
  const [mayVanish = false] = vanishing;
  /** The changes of the collections that may vanish. */
  const unsafe = [
    ...(mayVanish ? [changes] : []),
    ...quorumChanges.filter((_, set) => vanishing[set] === true),
  ];
  const restored = restoredIn(unsafe);
  /** What the library did. */
  const steps = changes.filter((change) => !restored.has(change));
  const ofJob = changes.filter(({ name }) => name === JOB);
  const when = whenIn(evidence);
  const interventions = interventionsIn(changes, when);
  const history = plan.operations === undefined ? evidence.history : { ...evidence.history, interventions };
  const isBeyondBounds = either(
    beyondBounds(history, plan.leaseMs),
    beyondRestores(unsafe.flat(), restored, when, plan.leaseMs),
  );
  const isJobBeyondBounds = (atMs: number): boolean => {
    const atNs = BigInt(Math.floor(atMs * 1e6));
    return isBeyondBounds(JOB, atNs, atNs);
  };
  const toleranceOf = (set: number): Tolerance => ({
    ...{ toleranceMs: 0, mayVanish: () => vanishing[set] === true },
    isFromOutside: (change) => restored.has(change),
  });
  const versions = new VersionJudge(toleranceOf(0));
  const [strict, passes] = [new StrictChecker(), new PassChecker()];
  for (const change of changes) {
    versions.take(change);
    strict.take(change);
    passes.take(change);
  }
  const quorum = quorumChanges.map((each, set) => judgeVersions(each, toleranceOf(set)));
  const { grants } = versions;
  const faults = disturbances(history.run);
  const isDisturbed = (fromMs: number, untilMs: number): boolean =>
    overlaps(faults, fromMs * 1e6, untilMs * 1e6);
  const revocations = judgeRevocations(evidence, { changes, steps, restored, mayVanish }, when);
  const promptness = { aheadMs, promptMs: PROMPT_MS, silentMs: silenceIn(history.run) };
  const unheardMs = unheardIn(history.run, plan.leaseMs);
  const strictly = { ...promptness, unheardMs, isAway: awayIn(promptness.silentMs, plan) };
  const leniently = { ...promptness, promptMs: PROMPT_MS + unheardMs(0, Infinity) };
  const isOfQuorum = (lock: string): boolean => lock.startsWith(QUORUM_LOCK);
  const single = { ...history, workers: history.workers.map((lines) => withoutQuorum(lines)) };
  const violations = [
    ...evidence.violations,
    ...versions.violations,
    ...quorum.flatMap((judge) => judge.violations),
    ...checkGranted(history, grants, isOfQuorum),
    ...checkBeliefs(history, isBeyondBounds, (lock, token) =>
      isOfQuorum(lock) ? timesGiven(quorum, lock, token) : 1,
    ),
    ...checkSets(history, setsAtEnd(evidence), isBeyondBounds).violations,
    ...checkLiveness(history, livenessIn(history.run), isBeyondBounds),
    ...checkLeaks({ history, baseline: {}, ...remainsOf(evidence) }),
    // If a document was lost, other candidates may have been elected meanwhile.
    ...(mayVanish
      ? []
      : checkHandOvers(
          history,
          grants.filter(({ lock }) => lock !== JOB),
        )),
    ...checkJobs(
      jobs.runs,
      {
        terms: jobs.terms,
        evictions: interventions.evictions.filter(({ lock }) => lock === JOB),
        restMs: plan.leaseMs + plan.clockAllowanceMs,
      },
      mayVanish ? { isBeyondBounds: isJobBeyondBounds, claims: claimCounts(ofJob) } : {},
    ),
    // A job that was lost begins from nothing, with another grid and other calls.
    ...(ofJob.some(({ after }) => after === null)
      ? []
      : checkCalls(jobs, ofJob, { when, aheadMs, isDisturbed })),
    ...checkClaims(ofJob, jobs, killedIn(history)),
    ...checkSilentLeaders(steps),
    ...revocations.violations,
    // The leader of an old copy was elected before.
    ...(mayVanish ? [] : checkObservers(evidence, changes, when)),
    ...checkFailures(evidence),
    ...checkCursors(evidence),
    ...checkLeftovers(evidence, changes),
    ...checkQuorumSeats(evidence, quorumChanges, restored),
    ...checkQuorumFailures(history),
    ...(plan.isStrict ? strict.judge(single, grants, strictly) : []),
    ...(plan.isStrict ? passes.judge(single, grants, leniently) : []),
  ];
  return { violations, grants, versions: versions.versions + sumOf(quorum), changes, restored, revocations };
}

const either =
  (one: IsBeyondBounds, other: IsBeyondBounds): IsBeyondBounds =>
  (...given) =>
    one(...given) || other(...given);

/**
 * For how long answers are kept away in a strict world. A request whose answer was lost is repeated after the store
 * timeout, and the next fault may befall the repeat.
 */
function silenceIn(run: Evidence['history']['run']): (fromMs: number, untilMs: number) => number {
  const losses = faultSpans(run, 'replies are lost').map(({ fromNs, untilNs }) => ({
    fromNs,
    untilNs: untilNs + STORE_TIMEOUT_MS * 1e6,
  }));
  const spans = [...losses, ...faultSpans(run, 'the primary steps down')];
  return (fromMs, untilMs) => overlapNs(spans, fromMs * 1e6, untilMs * 1e6) / 1e6;
}

/** If answers are kept away for so much of a time, the few extensions of a holder in that time may all fail. */
const AWAY_SHARE = 2 / 3;

/** The times at which that is looked at, in each lease. */
const LOOKS = 12;

/** A holder counts on its lease, less the allowance. Strict worlds may have many faults in that time, one after the other. */
function awayIn(
  silentMs: (fromMs: number, untilMs: number) => number,
  { leaseMs, clockAllowanceMs }: Evidence['plan'],
): (untilMs: number) => boolean {
  const countedMs = leaseMs - clockAllowanceMs;
  const looks = Array.from({ length: LOOKS + 1 }, (_, look) => (look * leaseMs) / LOOKS);
  return (untilMs) =>
    looks
      .map((before) => untilMs - before)
      .some((atMs) => silentMs(atMs - countedMs, atMs) >= AWAY_SHARE * countedMs);
}

/** While change streams are silent, waiters and keepers look every third of a lease. */
function unheardIn(
  run: Evidence['history']['run'],
  leaseMs: number,
): (fromMs: number, untilMs: number) => number {
  const spans = faultSpans(ofSet(run, 0), 'change streams are silent');
  return (fromMs, untilMs) => Math.min(leaseMs / 3, overlapNs(spans, fromMs * 1e6, untilMs * 1e6) / 1e6);
}

/** The processes that were killed. */
const killedIn = ({ run, workers }: Evidence['history']): ReadonlySet<string> =>
  new Set(
    run.flatMap((line) => {
      const [first] = line.type === 'worker killed' ? (workers[line.worker] ?? []) : [];
      return first?.type === 'started' ? [first.process] : [];
    }),
  );

/** In how many deployments this token was given. */
const timesGiven = (quorum: readonly VersionJudge[], lock: string, token: number): number =>
  quorum.filter(({ grants }) => grants.some((grant) => grant.lock === lock && grant.token === token)).length;

const sumOf = (judges: readonly VersionJudge[]): number =>
  judges.reduce((sum, { versions }) => sum + versions, 0);

function judgeVersions(changes: readonly Change[], tolerance: Tolerance): VersionJudge {
  const judge = new VersionJudge(tolerance);
  for (const change of changes) judge.take(change);
  return judge;
}

/** The strict rules are about queues, and a quorum has none. */
function withoutQuorum(lines: Evidence['history']['workers'][number]): typeof lines {
  const asks = new Set(
    lines.flatMap((line) => (line.type === 'asked' && line.lock.startsWith(QUORUM_LOCK) ? [line.ask] : [])),
  );
  return lines.filter((line) => !('ask' in line) || !asks.has(line.ask));
}

export function changesOf(versions: readonly StoredVersion[], wanted: string): readonly Change[] {
  const newest = new Map<string, StoredDocument>();
  const changes: Change[] = [];
  for (const [index, { namespace, id, document, at }] of versions.entries()) {
    if (namespace !== wanted) continue;
    const name = String(id);
    const before = newest.get(name) ?? null;
    if (document === null) newest.delete(name);
    else newest.set(name, document);
    const ts = new Timestamp({ t: 0, i: index });
    changes.push({ name, before, after: document, term: 0, wallMs: at.getTime(), ts });
  }
  return changes;
}

function remainsOf({ versions, endMs }: Evidence): {
  readonly documents: readonly Document[];
  readonly nowMs: number;
  readonly before: readonly [];
  readonly after: readonly [];
} {
  const newest = new Map<string, Document | null>();
  for (const [set, ofSet] of versions.entries()) {
    for (const { namespace, id, document } of ofSet) {
      if (namespace === LOCKS || namespace === QUORUM_LOCKS) {
        newest.set(`${String(set)} ${namespace} ${String(id)}`, document);
      }
    }
  }
  const documents = [...newest.values()].filter((document) => document !== null);
  return { documents, nowMs: endMs, before: [], after: [] };
}

/** Every set that a process began to add to; empty if it has no values. */
function setsAtEnd({ history, versions, memory }: Evidence): readonly StoredSet[] {
  const fenced = new Map<string, readonly string[]>();
  for (const { namespace, id, document } of versions[0] ?? []) {
    if (namespace === `${DATABASE}.${SETS}`) {
      fenced.set(String(id), (document?.['values'] ?? []) as readonly string[]);
    }
  }
  const locks = new Set(
    history.workers.flat().flatMap((line) => (line.type === 'adding' ? [line.lock] : [])),
  );
  return [...locks].flatMap((lock) => [
    { set: 'memory', lock, values: memory.get(lock) ?? [] } as const,
    { set: 'fenced', lock, values: fenced.get(lock) ?? [] } as const,
  ]);
}
