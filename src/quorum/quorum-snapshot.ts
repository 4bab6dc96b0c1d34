import type { LeaseInfo, LockSnapshot } from '../protocol/replies/snapshot.js';

/**
 * What these stores show together: each process's leases as often as a majority of all stores has them, if those that
 * have not answered had them too. Who cannot have more than a minority, a contender or what is left of one, holds
 * nothing. `null`: a majority does not have the lock stored.
 */
export function commonSnapshot(
  snapshots: readonly (LockSnapshot | null)[],
  majority: number,
  unanswered: number,
): LockSnapshot | null {
  const stored = snapshots.filter((snapshot) => snapshot !== null);
  const latest = stored.toSorted((a, b) => b.asOf.getTime() - a.asOf.getTime())[0];
  if (latest === undefined || snapshots.length - stored.length >= majority) return null;
  const processes = new Set(stored.flatMap(({ holders }) => holders.map(({ process }) => process)));
  const holders = [...processes].flatMap((process) =>
    heldByAtLeast(
      majority - unanswered,
      stored.map((snapshot) => snapshot.holders.filter((holder) => holder.process === process)),
    ),
  );
  return { ...latest, holders, waiters: [] };
}

/** As many as so many stores have, with the highest tokens that are stored. */
function heldByAtLeast(stores: number, perStore: readonly (readonly LeaseInfo[])[]): readonly LeaseInfo[] {
  const counts = perStore.map(({ length }) => length).sort((a, b) => b - a);
  const count = counts[stores - 1] ?? 0;
  const highest = (leases: readonly LeaseInfo[]): number => Math.max(0, ...leases.map(({ token }) => token));
  const complete = perStore.filter(({ length }) => length >= count);
  const [shown = []] = complete.toSorted((a, b) => highest(b) - highest(a));
  return shown.toSorted((a, b) => b.token - a.token).slice(0, count);
}
