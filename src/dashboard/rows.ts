import type { StoredLock } from '../admin/inspector.js';
import type { StoredClaim } from '../protocol/jobs/job-claims.js';
import type { LeaseInfo, LockSnapshot, WaiterInfo } from '../protocol/replies/snapshot.js';
import type { HolderRow, JobRow, LockRow, WaiterRow } from './wire.js';

/** How many holders, and how many waiters, of one lock are listed. The others are only counted. */
const LISTED = 20;

const modeOf = ({ mode, permits }: LeaseInfo | WaiterInfo): string | undefined =>
  permits === undefined ? mode : `${String(permits)} ${permits === 1 ? 'permit' : 'permits'}`;

const who = ({ candidateId, label, process }: LeaseInfo | WaiterInfo): string =>
  candidateId !== undefined && candidateId !== process ? candidateId : (label ?? process);

const holderRow = (lease: LeaseInfo): HolderRow => ({
  id: lease.id,
  who: who(lease),
  process: lease.process,
  why: lease.why,
  mode: modeOf(lease),
  value: lease.value,
  token: lease.token,
  since: lease.acquiredAt.getTime(),
  until: lease.expiresAt.getTime(),
});

const waiterRow = (waiter: WaiterInfo): WaiterRow => ({
  who: who(waiter),
  process: waiter.process,
  why: waiter.why,
  mode: modeOf(waiter),
  since: waiter.since.getTime(),
});

/** The row of a lock without what is not stored: the key, and the counts of what the dashboard has seen. */
export type StoredRow = Omit<LockRow, 'key' | 'handOvers' | 'losses'>;

export function lockRow({ name, snapshot }: StoredLock): StoredRow {
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

/** The jobs of an election. */
export function jobRows({ name: election, snapshot, claims }: StoredLock): readonly Omit<JobRow, 'key'>[] {
  const term = snapshot?.holders[0]?.id;
  return claims.map(({ job: name, instant, run }) => ({
    name,
    election,
    last: run === undefined ? null : lastRun(run, term),
    // A claim that only records missed instants leaves the last run stored. So the run may be for an earlier instant
    // than the claim.
    next: run?.next !== undefined && run.next > instant ? run.next.getTime() : null,
    missed: run?.instant.getTime() === instant.getTime() ? null : instant.getTime(),
  }));
}

function lastRun(run: NonNullable<StoredClaim['run']>, term: string | undefined): JobRow['last'] {
  const { instant, startedAt, endedAt, outcome, process, candidateId } = run;
  return {
    firedAt: instant.getTime(),
    by: candidateId === '' ? process : candidateId,
    outcome: outcome ?? (run.term === term ? 'running' : 'unknown'),
    durationMs: endedAt === undefined ? null : Math.max(0, endedAt.getTime() - startedAt.getTime()),
  };
}
