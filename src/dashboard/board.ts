import { randomInt } from 'node:crypto';

import type { StoredLock } from '../admin/inspector.js';
import type { Clock } from '../clock.js';
import { rowsOf } from './rows.js';
import type { StoredRow } from './rows.js';
import { Views } from './views.js';
import type { Aged } from './views.js';
import type { JobRow, LockRow, Row, Totals } from './wire.js';

/** The most rows of each list that a viewer gets. A filter searches all rows, also those that are not shown. */
const SHOWN = 100;

/** What the board knows of one stored document. */
interface Entry {
  readonly key: number;
  readonly name: string;
  row: LockRow;
  jobs: readonly JobRow[];
  handOvers: number;
  losses: number;
  /** The expiry of each live lease, in ms, by its attempt id. */
  leases: ReadonlyMap<string, number>;
  /**
   * The attempt ids of the leases that may have been released or evicted, as events show. The end of such a lease is no
   * loss. A read that does not show the lease removes the id. The value tells whether a read has shown the lease since
   * the event. That read may have been sent before the event, but the next read is sent after the event. So the next
   * read removes the id even if it shows the lease.
   */
  readonly left: Map<string, boolean>;
  /**
   * The earliest expiry of a lease or a place, in ms; `Infinity` without leases and places. No event reports an expiry,
   * so `endedBy` compares this time with the time of the server.
   */
  endsAtMs: number;
  /** The text that a filter searches; `undefined` until a filter searches this version of the row. */
  searched: string | undefined;
}

/** The first rows of a list, and how many rows match the filter. */
export interface Ranked<R extends Row> {
  readonly matching: number;
  readonly rows: readonly R[];
}

/** What a viewer with one filter sees. */
export interface View {
  readonly locks: Ranked<LockRow>;
  readonly elections: Ranked<LockRow>;
  readonly jobs: Ranked<JobRow>;
}

/** The latest known state of all stored locks, and what has happened to them while the board was watched. */
export class Board {
  readonly #byName = new Map<string, Entry>();
  /** All entries, in the order of their names. */
  readonly #entries: Entry[] = [];
  readonly #views: Views<View>;
  /** The entries with a holder or a waiter, the corrupt ones, and all elections. */
  readonly #inUse = new Set<Entry>();
  #totals = noTotals();
  /**
   * The last key that a row got. The first key is random: a page stays open while the process is started again, and
   * must not take a row of the new process for one of the old process.
   */
  #keys: number = randomInt(2 ** 47);
  #losses = 0;

  constructor(clock: Clock) {
    this.#views = new Views(clock);
  }

  /**
   * Takes over what was read.
   *
   * @param isGapless - Whether every change since the last read of these locks was reported. If not, a lease that is
   *   gone after its expiry is not counted as a loss, because it may have been extended and released unseen.
   */
  put(all: readonly StoredLock[], isGapless: boolean): void {
    for (const stored of all) this.#put(stored, isGapless);
    this.#views.changed();
  }

  remove(name: string): void {
    const entry = this.#byName.get(name);
    if (entry === undefined) return;
    this.#byName.delete(name);
    this.#inUse.delete(entry);
    this.#count(entry, -1);
    this.#entries.splice(this.#placeOf(name), 1);
    this.#views.changed();
  }

  /** Removes every lock whose name is not among these. */
  keepOnly(names: ReadonlySet<string>): void {
    for (const name of [...this.#byName.keys()]) if (!names.has(name)) this.remove(name);
  }

  clear(): void {
    this.#byName.clear();
    this.#entries.length = 0;
    this.#inUse.clear();
    this.#totals = noTotals();
    this.#views.changed();
    this.#losses = 0;
  }

  /**
   * Notes what an event reports of a lock: how many grants there were, and which leases may have been released or
   * evicted. Viewers see the effect after the next read of the lock. If no read has shown the lock, nothing is noted.
   */
  heard(name: string, handOvers: number, left: readonly string[]): void {
    const entry = this.#byName.get(name);
    if (entry === undefined) return;
    entry.handOvers += handOvers;
    for (const id of left) entry.left.set(id, false);
  }

  /** The locks that have a lease or a place whose last known expiry has passed. */
  endedBy(serverNowMs: number): readonly string[] {
    const ended = [...this.#inUse].filter(({ endsAtMs }) => endsAtMs <= serverNowMs);
    return ended.map(({ name }) => name);
  }

  get totals(): Totals {
    return { ...this.#totals, losses: this.#losses };
  }

  /** Called when a viewer with this filter has connected. `leave` has to follow when the viewer leaves. */
  join(filter: string): void {
    this.#views.join(filter);
  }

  leave(filter: string): void {
    this.#views.leave(filter);
  }

  /** What a viewer with this filter sees; `undefined` while the filter waits for its first search. */
  view(filter: string, serverNowMs: number): Aged<View> | undefined {
    return this.#views.of(filter, () => this.#look(filter.toLowerCase(), serverNowMs));
  }

  /**
   * Makes the view of a filter. A filter searches all entries. Without a filter, looks at the entries that are in use,
   * and at free locks only until there are enough rows: in a large collection most locks are usually free, and a walk
   * over all of them for each view would be too slow.
   */
  #look(filter: string, serverNowMs: number): View {
    const found =
      filter === '' ? null : this.#entries.filter((entry) => searchedText(entry).includes(filter));
    const [contended, held, free, elections]: [LockRow[], LockRow[], LockRow[], Entry[]] = [[], [], [], []];
    for (const entry of found ?? this.#inUse) {
      const { row } = entry;
      if (row.kind === 'election') elections.push(entry);
      else if (row.waiterCount > 0 || row.kind === 'corrupt') contended.push(row);
      else (row.holderCount > 0 ? held : free).push(row);
    }
    const contention = (row: LockRow): number =>
      row.kind === 'corrupt' ? Infinity : row.waiterCount * (serverNowMs - (row.waiters[0]?.since ?? 0));
    const age = ({ holders }: LockRow): number => serverNowMs - (holders[0]?.since ?? 0);
    const rows = byMost(contended, contention).slice(0, SHOWN);
    if (rows.length < SHOWN) rows.push(...byMost(held, age).slice(0, SHOWN - rows.length));
    rows.push(
      ...(found === null ? this.#firstFree(SHOWN - rows.length) : free.slice(0, SHOWN - rows.length)),
    );
    const matching = found === null ? this.#totals.locks : contended.length + held.length + free.length;
    elections.sort((a, b) => (a.name < b.name ? -1 : 1));
    return {
      locks: { matching, rows },
      elections: firstOf(elections.map(({ row }) => row)),
      jobs: firstOf(elections.flatMap(({ jobs }) => jobs)),
    };
  }

  #firstFree(most: number): readonly LockRow[] {
    const rows: LockRow[] = [];
    for (const entry of this.#entries) {
      if (rows.length >= most) break;
      if (!this.#inUse.has(entry)) rows.push(entry.row);
    }
    return rows;
  }

  /** Adds the entry to the totals, or takes it out of them. */
  #count({ row, jobs }: Entry, sign: 1 | -1): void {
    const totals = this.#totals;
    totals.jobs += sign * jobs.length;
    totals[row.kind === 'election' ? 'elections' : 'locks'] += sign;
    if (row.kind === 'election') return;
    totals.held += row.holderCount > 0 ? sign : 0;
    totals.waiting += sign * row.waiterCount;
  }

  #put(stored: StoredLock, isGapless: boolean): void {
    const { name, asOf, snapshot } = stored;
    const { lock, jobs } = rowsOf(stored);
    const entry = this.#byName.get(name) ?? this.#insert(name);
    const leases = new Map(snapshot?.holders.map(({ id, expiresAt }) => [id, expiresAt.getTime()]));
    const ends = [
      ...leases.values(),
      ...(snapshot?.waiters ?? []).map(({ expiresAt }) => expiresAt.getTime()),
    ];
    const lost = [...entry.leases].filter(
      ([id, until]) => !leases.has(id) && !entry.left.has(id) && until <= asOf.getTime(),
    );
    for (const [id, isShown] of entry.left) {
      if (isShown || !leases.has(id)) entry.left.delete(id);
      else entry.left.set(id, true);
    }
    const losses = isGapless ? lost.length : 0;
    entry.losses += losses;
    this.#losses += losses;
    entry.leases = leases;
    entry.endsAtMs = ends.reduce((first, end) => Math.min(first, end), Infinity);
    entry.searched = undefined;
    this.#count(entry, -1);
    entry.row = rowOf(entry, lock);
    const keys = new Map(entry.jobs.map((job) => [job.name, job.key]));
    entry.jobs = jobs.map((job) => ({ key: keys.get(job.name) ?? (this.#keys += 1), ...job }));
    this.#count(entry, 1);
    const { kind, holderCount, waiterCount } = entry.row;
    const isInUse = holderCount + waiterCount > 0 || kind === 'corrupt' || kind === 'election';
    this.#inUse[isInUse ? 'add' : 'delete'](entry);
  }

  #insert(name: string): Entry {
    const key = (this.#keys += 1);
    const entry: Entry = {
      ...{ key, name, row: EMPTY, jobs: [], handOvers: 0, losses: 0 },
      ...{ leases: new Map(), left: new Map(), endsAtMs: Infinity, searched: undefined },
    };
    this.#byName.set(name, entry);
    this.#count(entry, 1);
    this.#entries.splice(this.#placeOf(name), 0, entry);
    return entry;
  }

  /** Returns the index of the first entry whose name is `name` or comes after it. */
  #placeOf(name: string): number {
    let [low, high] = [0, this.#entries.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#entries[middle]?.name ?? '') < name) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

const EMPTY: LockRow = {
  ...{ key: 0, name: '', kind: 'corrupt', holders: [], holderCount: 0, waiters: [], waiterCount: 0 },
  ...{ handOvers: 0, losses: 0 },
};

const noTotals = (): Mutable<Omit<Totals, 'losses'>> => ({
  locks: 0,
  elections: 0,
  jobs: 0,
  held: 0,
  waiting: 0,
});

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

const rowOf = ({ key, handOvers, losses }: Entry, stored: StoredRow): LockRow => ({
  key,
  ...stored,
  handOvers,
  losses,
});

function byMost<R extends Row>(rows: readonly R[], amountOf: (row: R) => number): R[] {
  const measured = rows.map((row) => ({ row, amount: amountOf(row) }));
  return measured.sort((a, b) => b.amount - a.amount).map(({ row }) => row);
}

const firstOf = <R extends Row>(rows: readonly R[]): Ranked<R> => ({
  matching: rows.length,
  rows: rows.slice(0, SHOWN),
});

/**
 * Returns the text that a filter searches, in lower case: the name and the kind, the listed holders and waiters, and
 * the jobs.
 */
function searchedText(entry: Entry): string {
  if (entry.searched !== undefined) return entry.searched;
  const { row, jobs } = entry;
  const parties = [...row.holders, ...row.waiters].flatMap(({ who, process, why = '' }) => [
    who,
    process,
    why,
  ]);
  const texts = [row.name, row.kind, ...parties, ...jobs.map(({ name }) => name)];
  return (entry.searched = texts.join('\n').toLowerCase());
}
