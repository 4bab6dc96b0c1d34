import type { Mode, Seat } from '../faults/history.js';

/** The time in which a worker relies on a hold, in ns since the run began; `untilNs` is not included. */
export interface Reliance {
  readonly lock: string;
  readonly seat: Seat;
  readonly fromNs: number;
  readonly untilNs: number;
  readonly token: number;
}

export interface Conflict<R extends Reliance> {
  readonly earlier: R;
  readonly later: R;
}

/** How a hold shares its lock. A writer is alone, and so are the holder of a mutex and a leader. */
type Share = 'alone' | 'upgradeable' | 'read' | 'permits';

const SHARE_OF: Readonly<Record<Mode, Share>> = { write: 'alone', upgradeable: 'upgradeable', read: 'read' };

export const shareOf = (seat: Seat): Share => {
  switch (seat.kind) {
    case 'mutex':
    case 'election':
      return 'alone';
    case 'semaphore':
      return 'permits';
    case 'reader-writer':
      return SHARE_OF[seat.mode];
  }
};

/** The shares that each share excludes. Permits exclude each other only beyond the limit. */
export const EXCLUDED_BY: Readonly<Record<Share, readonly Share[]>> = {
  alone: ['alone', 'upgradeable', 'read', 'permits'],
  upgradeable: ['alone', 'upgradeable', 'permits'],
  read: ['alone', 'permits'],
  permits: ['alone', 'upgradeable', 'read'],
};

/** Each reliance that begins during conflicting ones, once with each of these. */
export function conflictsIn<R extends Reliance>(reliances: readonly R[]): readonly Conflict<R>[] {
  const found: Conflict<R>[] = [];
  for (const ofLock of byLock(reliances)) {
    const active = new Active<R>();
    for (const { is, reliance } of edgesOf(ofLock)) {
      if (is === 'end') active.delete(reliance);
      else found.push(...active.add(reliance).map((earlier) => ({ earlier, later: reliance })));
    }
  }
  return found;
}

interface Edge<R> {
  readonly is: 'begin' | 'end';
  readonly ns: number;
  readonly reliance: R;
}

/** In the order of time. At the same time, an end comes before a beginning. */
export function edgesOf<R extends Reliance>(reliances: readonly R[]): readonly Edge<R>[] {
  const edges = reliances
    .filter(({ fromNs, untilNs }) => fromNs < untilNs)
    .flatMap((reliance): readonly Edge<R>[] => [
      { is: 'begin', ns: reliance.fromNs, reliance },
      { is: 'end', ns: reliance.untilNs, reliance },
    ]);
  return edges.sort((a, b) => a.ns - b.ns || Number(a.is === 'begin') - Number(b.is === 'begin'));
}

export function byLock<R extends { readonly lock: string }>(all: readonly R[]): Iterable<readonly R[]> {
  const locks = new Map<string, R[]>();
  for (const one of all) {
    const known = locks.get(one.lock);
    if (known === undefined) locks.set(one.lock, [one]);
    else known.push(one);
  }
  return locks.values();
}

/** The reliances on one lock at a time. */
class Active<R extends Reliance> {
  readonly #among: Readonly<Record<Share, Set<R>>> = {
    alone: new Set(),
    upgradeable: new Set(),
    read: new Set(),
    permits: new Set(),
  };
  #permits = 0;

  /** Adds a reliance, and returns the active ones that conflict with it. */
  add(reliance: R): readonly R[] {
    const { seat } = reliance;
    const share = shareOf(seat);
    const excluded = EXCLUDED_BY[share].flatMap((other) => [...this.#among[other]]);
    this.#permits += permitsIn(seat);
    const others = seat.kind === 'semaphore' ? [...this.#among.permits] : [];
    this.#among[share].add(reliance);
    if (this.#permits > this.#limit) excluded.push(...others);
    return excluded;
  }

  /** No grant leaves more permits held than the limit allows, so the limit at the newest grant counts. */
  get #limit(): number {
    let newest: R | undefined;
    for (const each of this.#among.permits) if (each.token > (newest?.token ?? 0)) newest = each;
    return newest?.seat.kind === 'semaphore' ? newest.seat.limit : Infinity;
  }

  delete(reliance: R): void {
    if (this.#among[shareOf(reliance.seat)].delete(reliance)) this.#permits -= permitsIn(reliance.seat);
  }
}

const permitsIn = (seat: Seat): number => (seat.kind === 'semaphore' ? seat.permits : 0);
