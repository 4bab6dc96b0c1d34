import type { LeaseInfo, LockSnapshot } from '../protocol/replies/snapshot.js';

/**
 * Combines the snapshots of several stores. The result shows n leases of a process: n is the highest number for which a
 * majority of the stores has at least n leases of this process. A store that has not answered counts as a store that
 * has these leases. A process without a majority holds nothing and is not shown: it is a contender, or its leases are
 * left over. The result is `null` if a majority of all stores has answered that it does not store the lock.
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

/**
 * Returns n leases of one process: n is the highest number for which at least `stores` of the stores have n leases or
 * more. All n leases are from one store: the one that has the highest token among the stores with n leases or more.
 */
function heldByAtLeast(stores: number, perStore: readonly (readonly LeaseInfo[])[]): readonly LeaseInfo[] {
  const counts = perStore.map(({ length }) => length).sort((a, b) => b - a);
  const count = counts[stores - 1] ?? 0;
  const highest = (leases: readonly LeaseInfo[]): number => Math.max(0, ...leases.map(({ token }) => token));
  const complete = perStore.filter(({ length }) => length >= count);
  const [shown = []] = complete.toSorted((a, b) => highest(b) - highest(a));
  return shown.toSorted((a, b) => b.token - a.token).slice(0, count);
}
