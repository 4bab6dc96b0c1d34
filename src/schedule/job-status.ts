import { CorruptLockDocumentError } from '../errors.js';
import { electionRules } from '../protocol/kinds/election-rules.js';
import { NOW, hasType, filter, when } from '../protocol/expressions.js';
import { wellFormedProjection } from '../protocol/pipeline/verdict.js';
import type { StoredClaim, StoredRun } from '../protocol/jobs/job-claims.js';
import { isOfJob } from '../protocol/jobs/job-list.js';
import type { RunOutcome } from '../protocol/operation.js';
import type { Lease } from '../protocol/lock-document.js';
import type { LockCollection } from '../store/lock-collection.js';
import { unavailable } from '../store/unavailable.js';
import { claimedBy } from './schedule.js';
import type { Schedule } from './schedule.js';

/** The last run that a job has claimed. */
export interface JobClaim {
  /**
   * The instant of the schedule; for a run that `runNow` requested, the time for which the leader claimed it, shortly
   * before `startedAt`.
   */
  readonly firedAt: Date;
  /** The server time of the claim. The run starts right after the claim, if it can start at all. */
  readonly startedAt: Date;
  /** The name of the candidate that led. */
  readonly candidateId: string;
  /** `host:pid:random` of the candidate's provider. */
  readonly processId: string;
}

/** The present and the last run of a job, as they are stored. All times are the server's. */
export interface JobStatus {
  /**
   * The next instant of the schedule, at which the job runs if there is a leader. If this instant is in the past, the
   * job runs as soon as there is a leader. `null` if there is no next instant. Also `null` before the first claim of a
   * job with `everyMs`, and while a job with a fixed delay is running, because the next instant is not known then.
   */
  readonly nextFireAt: Date | null;
  /** The last run; `null` if the job has claimed none yet. Instants that were only reported as missed do not count. */
  readonly lastClaim: JobClaim | null;
  /**
   * The outcome of the last run; `null` while the run is running, or if there was none. `missed`: the run was claimed,
   * but the term ended or the job was stopped before the run could start. `unknown`: the term of the run is over, and
   * no outcome is stored: the process has died, the run goes on after its term, or the outcome could not be stored.
   */
  readonly lastOutcome: RunOutcome | 'unknown' | null;
  /** The time from the claim of the last run to its end, in ms; `null` if the end is not known. */
  readonly lastDurationMs: number | null;
  /** The start of the present run; `null` if no run is running. A run that outlives its lease is not shown. */
  readonly runningSince: Date | null;
  /** The process and the candidate that run the job now; `null` if no run is running. */
  readonly runningBy: JobRunner | null;
}

/** The leader that runs a job. */
export interface JobRunner {
  /** `host:pid:random` of the leader's provider. */
  readonly processId: string;
  /** The name of the candidate. */
  readonly candidateId: string;
}

/** The stored state of one job, and the leader of its election. */
export interface StoredJob {
  readonly now: Date;
  readonly kind: unknown;
  readonly isWellFormed: boolean;
  readonly holder: Lease | null;
  readonly claims: readonly StoredClaim[];
}

/**
 * Reads what is stored about one job; `undefined` if its election has no document.
 *
 * @throws {@link StoreUnavailableError}, {@link UnsupportedServerError}, {@link CorruptLockDocumentError}.
 */
export async function readJob(
  collection: LockCollection,
  electionName: string,
  job: string,
): Promise<{ readonly stored: StoredJob; readonly sentAtMs: number } | undefined> {
  const ofJob = filter('$claims', isOfJob(job));
  const projection = {
    now: NOW,
    kind: 1,
    holder: 1,
    claims: when(hasType('$claims', 'array'), ofJob, []),
    ...wellFormedProjection(electionRules),
  };
  const outcome = await collection.read([electionName], projection, 'majority');
  if (outcome.type !== 'done') throw unavailable(electionName, true, outcome.error);
  const [stored] = outcome.value as readonly unknown[] as readonly StoredJob[];
  if (stored === undefined) return undefined;
  if (stored.kind === electionRules.kind && !stored.isWellFormed)
    throw new CorruptLockDocumentError(electionName);
  return { stored, sentAtMs: outcome.sentAt.ms };
}

/**
 * The leader of the election, if its term is going on. The stored lease lasts longer than the term, by `transitionMs`.
 */
export function leaderOf({ now, kind, holder }: StoredJob): Lease | undefined {
  if (kind !== electionRules.kind || holder === null) return undefined;
  return holder.expiresAt.getTime() - (holder.transitionMs ?? 0) > now.getTime() ? holder : undefined;
}

const NEVER: JobStatus = {
  nextFireAt: null,
  lastClaim: null,
  lastOutcome: null,
  lastDurationMs: null,
  runningSince: null,
  runningBy: null,
};

export function describeJob(schedule: Schedule, stored: StoredJob | undefined, nowMs: number): JobStatus {
  const [claim] = stored?.claims ?? [];
  const run = claim?.run;
  const isRunning = stored !== undefined && run !== undefined && isGoingOn(stored, run);
  const nextMs = nextOf(schedule, claim, isRunning, nowMs);
  const next = { nextFireAt: nextMs === null ? null : new Date(nextMs) };
  if (run === undefined) return { ...NEVER, ...next };
  const { instant, startedAt, process: processId, candidateId, outcome, endedAt } = run;
  return {
    ...next,
    lastClaim: { firedAt: instant, startedAt, candidateId, processId },
    lastOutcome: isRunning ? null : (outcome ?? 'unknown'),
    lastDurationMs: endedAt === undefined ? null : Math.max(0, endedAt.getTime() - startedAt.getTime()),
    runningSince: isRunning ? startedAt : null,
    runningBy: isRunning ? { processId, candidateId } : null,
  };
}

const isGoingOn = (stored: StoredJob, run: StoredRun): boolean =>
  run.outcome === undefined && leaderOf(stored)?.id === run.term;

function nextOf(
  schedule: Schedule,
  claim: StoredClaim | undefined,
  isRunning: boolean,
  nowMs: number,
): number | null {
  if (claim === undefined) return schedule.expected(null, nowMs);
  const { instant, run } = claim;
  const endedMs = run?.instant.getTime() === instant.getTime() ? run.endedAt?.getTime() : undefined;
  const claimed = claimedBy(claim);
  if (isRunning && !schedule.isSeries) return null;
  return schedule.expected(endedMs === undefined ? claimed : { ...claimed, endedMs }, nowMs);
}
