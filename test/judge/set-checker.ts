import type { History, SetName } from '../faults/history.js';
import type { Invariant, Violation } from '../faults/verdict.js';
import type { IsBeyondBounds } from './belief-checker.js';
import { asksOf } from './asks.js';
import { byLock } from './conflicts.js';
import { clockOf } from './run-clock.js';
import type { RunClock } from './run-clock.js';
import { Standing } from './standing.js';

/** The values at the end. A set that was not read counts as empty. */
export interface StoredSet {
  readonly set: SetName;
  readonly lock: string;
  readonly values: readonly string[];
}

/** The sums over all locks. */
interface Counts {
  /** Values that were confirmed, and how many of them are gone. */
  readonly acknowledged: number;
  readonly lost: number;
  /** Adds whose hold was over when the answer came. */
  readonly late: number;
}

export interface SetResult extends Readonly<Record<SetName, Counts>> {
  readonly violations: readonly Violation[];
}

interface Add {
  readonly set: SetName;
  readonly lock: string;
  readonly value: string;
  readonly worker: number;
  readonly fromNs: number;
  outcome: 'ok' | 'fail' | 'unknown';
  /** Whether the lock alone cannot have protected the add. */
  isExposed: boolean;
  isLate: boolean;
}

const CHECKER = 'sets';

/**
 * S4: a fenced set loses nothing, by whichever means it is fenced. S2: nor does a set in memory, if all of its adds were
 * made under a good hold: none late, none without an answer, none with a paused worker, none that outlasts the eviction of
 * its hold, and none beyond the bounds.
 */
export function checkSets(
  history: History,
  stored: readonly StoredSet[],
  isBeyondBounds: IsBeyondBounds = () => false,
): SetResult {
  const adds = addsIn(history, isBeyondBounds);
  const [memory, fenced, transaction] = [
    judge('memory', adds, stored),
    judge('fenced', adds, stored),
    judge('transaction', adds, stored),
  ];
  return {
    ...{ memory: memory.counts, fenced: fenced.counts, transaction: transaction.counts },
    violations: [memory, fenced, transaction].flatMap(({ violations }) => violations),
  };
}

interface Judged {
  readonly counts: Counts;
  readonly violations: readonly Violation[];
}

function judge(set: SetName, adds: readonly Add[], stored: readonly StoredSet[]): Judged {
  const ofSet = adds.filter((add) => add.set === set);
  const ends = new Map(stored.flatMap((one) => (one.set === set ? [[one.lock, one.values] as const] : [])));
  const locks = new Map([...ends.keys()].map((lock): [string, readonly Add[]] => [lock, []]));
  for (const ofLock of byLock(ofSet)) locks.set(ofLock[0]?.lock ?? '', ofLock);
  const violations: Violation[] = [];
  let lost = 0;
  for (const [lock, ofLock] of locks) {
    const values = ends.get(lock) ?? [];
    const gone = lostOf(ofLock, values);
    lost += gone.length;
    violations.push(...strangersIn({ set, lock }, ofLock, values));
    if (set !== 'memory') violations.push(...gone.map((add) => violation('S4', add, 'is lost')));
    else if (!ofLock.some(({ isExposed }) => isExposed)) {
      violations.push(...gone.map((add) => violation('S2', add, 'is lost, and every add was protected')));
    }
  }
  const acknowledged = ofSet.filter(({ outcome }) => outcome === 'ok').length;
  return { violations, counts: { acknowledged, lost, late: ofSet.filter(({ isLate }) => isLate).length } };
}

const lostOf = (adds: readonly Add[], values: readonly string[]): readonly Add[] => {
  const there = new Set(values);
  return adds.filter(({ outcome, value }) => outcome === 'ok' && !there.has(value));
};

/** Values that must not be there: never added, refused, or there twice. */
function* strangersIn(
  { set, lock }: Pick<Add, 'set' | 'lock'>,
  adds: readonly Add[],
  values: readonly string[],
): Iterable<Violation> {
  const added = new Map(adds.map((add) => [add.value, add]));
  const seen = new Set<string>();
  for (const value of values) {
    const add = added.get(value);
    if (add === undefined) yield violation('S4', { set, lock, value }, 'was never added');
    else if (add.outcome === 'fail') yield violation('S4', add, 'is there although it was refused');
    if (seen.has(value)) yield violation('S4', { set, lock, value }, 'is there twice');
    seen.add(value);
  }
}

const violation = (
  invariant: Invariant,
  { set, lock, value, worker }: Pick<Add, 'set' | 'lock' | 'value'> & { readonly worker?: number },
  words: string,
): Violation => ({
  ...{ invariant, checker: CHECKER },
  what: `${lock}: ${value}${worker === undefined ? '' : ` of worker ${worker}`} in the ${set} set ${words}`,
});

/** An add without an answer is unknown, and exposed: it may take effect at any time. */
function addsIn(history: History, isBeyondBounds: IsBeyondBounds): readonly Add[] {
  const clock = clockOf(history);
  const standing = new Standing(history, clock);
  const evicted = evictionsIn(history, clock);
  return history.workers.flatMap((lines, worker) => {
    const adds = new Map<string, Add>();
    for (const line of lines) {
      if (line.type === 'adding') {
        const { set, lock, value, atNs } = line;
        const open = { outcome: 'unknown', isExposed: true, isLate: false } as const;
        adds.set(keyOf(line), { ...{ set, lock, value, worker }, fromNs: clock.ns(atNs), ...open });
      } else if (line.type === 'added') {
        const add = adds.get(keyOf(line));
        if (add === undefined) throw new Error(`${line.value} was added before it was tried`);
        const untilNs = clock.ns(line.atNs);
        const stood = standing.stood(worker, add.fromNs, untilNs);
        const wasBeyond = isBeyondBounds(add.lock, clock.atNs(add.fromNs), clock.atNs(untilNs));
        add.outcome = line.outcome;
        add.isLate = line.isLate;
        const wasEvicted = (evicted.get(`${worker} ${line.ask}`) ?? Infinity) <= untilNs;
        add.isExposed = line.isLate || stood || wasBeyond || wasEvicted || line.outcome === 'unknown';
      }
    }
    return [...adds.values()];
  });
}

/** When holds were evicted, by worker and request. */
function evictionsIn(history: History, clock: RunClock): ReadonlyMap<string, number> {
  if (history.interventions === undefined) return new Map();
  return new Map(
    asksOf(history, clock).flatMap(({ worker, ask, evictedNs }) =>
      evictedNs === undefined ? [] : [[`${worker} ${ask}`, evictedNs] as const],
    ),
  );
}

const keyOf = ({ set, lock, value }: Pick<Add, 'set' | 'lock' | 'value'>): string =>
  `${set} ${value} ${lock}`;
