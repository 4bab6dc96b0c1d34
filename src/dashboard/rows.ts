import type { StoredLock } from '../admin/inspector.js';
import type { StoredClaim } from '../protocol/jobs/job-claims.js';
import type { RunOutcome } from '../protocol/operation.js';
import type { LeaseInfo, LockSnapshot, WaiterInfo } from '../protocol/replies/snapshot.js';
import type { HolderRow, JobRow, LockRow, WaiterRow } from './wire.js';

/** How many holders, and how many waiters, of one lock are listed. The others are only counted. */
const LISTED = 20;

/** An optional text may be stored as any type: the server checks only what the protocol depends on. */
const text = (stored: unknown): string | undefined => (typeof stored === 'string' ? stored : undefined);

const modeOf = ({ mode, permits }: LeaseInfo | WaiterInfo): string | undefined =>
  typeof permits === 'number' ? `${String(permits)} ${permits === 1 ? 'permit' : 'permits'}` : text(mode);

function who({ candidateId, label, process }: LeaseInfo | WaiterInfo): string {
  const candidate = text(candidateId);
  return candidate !== undefined && candidate !== process ? candidate : (text(label) ?? process);
}

const holderRow = (lease: LeaseInfo): HolderRow => ({
  id: lease.id,
  who: who(lease),
  process: lease.process,
  why: text(lease.why),
  mode: modeOf(lease),
  value: text(lease.value),
  token: lease.token,
  since: lease.acquiredAt.getTime(),
  until: lease.expiresAt.getTime(),
});

const waiterRow = (waiter: WaiterInfo): WaiterRow => ({
  who: who(waiter),
  process: waiter.process,
  why: text(waiter.why),
  mode: modeOf(waiter),
  since: waiter.since.getTime(),
});

/** The stored part of the row of a lock: without the key, and without the counts of what the dashboard has seen. */
export type StoredRow = Omit<LockRow, 'key' | 'handOvers' | 'losses'>;

/** The row of a job without its key. */
type StoredJobRow = Omit<JobRow, 'key'>;

type ShownRun = NonNullable<JobRow['last']>;

/**
 * Makes the rows of one stored document. A value of an unforeseen type must not stop the dashboard, so a document whose
 * rows cannot be made is shown as corrupt.
 */
export function rowsOf(stored: StoredLock): {
  readonly lock: StoredRow;
  readonly jobs: readonly StoredJobRow[];
} {
  try {
    return { lock: lockRow(stored), jobs: jobRows(stored) };
  } catch {
    return { lock: lockRow({ ...stored, snapshot: null }), jobs: [] };
  }
}

function lockRow({ name, snapshot }: StoredLock): StoredRow {
  const {
    kind,
    limit,
    holders,
    waiters,
  }: Pick<LockSnapshot, 'limit' | 'holders' | 'waiters'> & {
    readonly kind: LockRow['kind'];
  } = snapshot ?? { kind: 'corrupt', limit: undefined, holders: [], waiters: [] };
  const oldestFirst = [...holders].sort((a, b) => a.acquiredAt.getTime() - b.acquiredAt.getTime());
  return {
    name,
    kind,
    limit,
    holders: oldestFirst.slice(0, LISTED).map(holderRow),
    holderCount: holders.length,
    waiters: waiters.slice(0, LISTED).map(waiterRow),
    waiterCount: waiters.length,
  };
}

function jobRows({ name: election, snapshot, claims }: StoredLock): readonly StoredJobRow[] {
  const term = snapshot?.holders[0]?.id;
  return claims.map(({ job: name, instant, run }) => ({
    name,
    election,
    last: run === undefined ? null : lastRun(run, term),
    // A claim that only records missed instants leaves the last run stored, so the run may be for an earlier instant
    // than the claim. Then the claimed instant was missed, and the run's `next` is shown only if it is after that
    // instant.
    next: nextOf(run, instant),
    missed: run?.instant.getTime() === instant.getTime() ? null : instant.getTime(),
  }));
}

/** The stored `next`, if it is after the last claimed instant; otherwise `null`. `next` may be stored as any type. */
function nextOf(run: StoredClaim['run'], instant: Date): number | null {
  const next: unknown = run?.next;
  return next instanceof Date && next > instant ? next.getTime() : null;
}

const OUTCOMES: readonly unknown[] = ['completed', 'failed', 'missed'] satisfies RunOutcome[];

function shownOutcome(stored: RunOutcome | undefined, isTermLive: boolean): ShownRun['outcome'] {
  if (stored === undefined) return isTermLive ? 'running' : 'unknown';
  return OUTCOMES.includes(stored) ? stored : 'unknown';
}

function lastRun(run: NonNullable<StoredClaim['run']>, term: string | undefined): JobRow['last'] {
  const { instant, startedAt, endedAt, outcome, process, candidateId } = run;
  return {
    firedAt: instant.getTime(),
    by: candidateId === '' ? process : candidateId,
    outcome: shownOutcome(outcome, run.term === term),
    durationMs: endedAt === undefined ? null : Math.max(0, endedAt.getTime() - startedAt.getTime()),
  };
}
