import type { StoredLock } from '../admin/inspector.js';
import { jobRows, lockRow } from './rows.js';
import type { StoredRow } from './rows.js';
import type { JobRow, LockRow, Row, Totals } from './wire.js';

/** How many rows of each list a viewer gets. A filter searches all rows, also those that are not shown. */
const SHOWN = 100;

/** What the board knows of one stored document. */
interface Entry {
  readonly key: number;
  readonly name: string;
  row: LockRow;
  jobs: readonly JobRow[];
  handOvers: number;
  losses: number;
  /** When each live lease runs out unless it is extended, by its id. */
  leases: ReadonlyMap<string, number>;
  /** The leases that were given back or taken away since the last read, so that they are no losses. */
  readonly left: Set<string>;
  /** When the first lease or place runs out unless it is extended. No event reports that. */
  endsAtMs: number;
  /** What a filter searches; `undefined` until it does. */
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
  /** In the order of the names. */
  readonly #entries: Entry[] = [];
  readonly #jobKeys = new Map<string, number>();
  /** The views of the present state, so that viewers with the same filter share one. */
  readonly #views = new Map<string, View>();
  #keys = 0;
  #losses = 0;

  /**
   * Takes over what was read.
   *
   * @param isGapless - Whether every change since the last read of these locks was reported. Only then is a lease that
   *   is gone after its expiry a loss: otherwise it may have been extended and released unseen.
   */
  put(all: readonly StoredLock[], isGapless: boolean): void {
    for (const stored of all) this.#put(stored, isGapless);
    this.#views.clear();
  }

  remove(name: string): void {
    const entry = this.#byName.get(name);
    if (entry === undefined) return;
    this.#byName.delete(name);
    this.#entries.splice(this.#placeOf(name), 1);
    this.#views.clear();
  }

  /** Removes every lock with another name. */
  keepOnly(names: ReadonlySet<string>): void {
    for (const name of [...this.#byName.keys()]) if (!names.has(name)) this.remove(name);
  }

  clear(): void {
    this.#byName.clear();
    this.#entries.length = 0;
    this.#jobKeys.clear();
    this.#views.clear();
    this.#losses = 0;
  }

  /** Takes over what an event tells of a lock: grants to waiters, and leases that have ended. The next read shows it. */
  heard(name: string, handOvers: number, left: readonly string[]): void {
    const entry = this.#byName.get(name);
    if (entry === undefined) return;
    entry.handOvers += handOvers;
    for (const id of left) entry.left.add(id);
  }

  /** The locks of which a lease or a place has run out, unless it was extended since the last read. At most `most`. */
  endedBy(serverNowMs: number, most: number): readonly string[] {
    const names: string[] = [];
    for (const { name, endsAtMs } of this.#entries) {
      if (endsAtMs > serverNowMs) continue;
      names.push(name);
      if (names.length === most) break;
    }
    return names;
  }

  get totals(): Totals {
    const totals = { locks: 0, elections: 0, jobs: 0, held: 0, waiting: 0, losses: this.#losses };
    for (const { row, jobs } of this.#entries) {
      totals.jobs += jobs.length;
      totals[row.kind === 'election' ? 'elections' : 'locks'] += 1;
      if (row.kind === 'election') continue;
      totals.held += row.holderCount > 0 ? 1 : 0;
      totals.waiting += row.waiterCount;
    }
    return totals;
  }

  view(filter: string, serverNowMs: number): View {
    const known = this.#views.get(filter);
    if (known !== undefined) return known;
    const view = this.#look(filter.toLowerCase(), serverNowMs);
    this.#views.set(filter, view);
    return view;
  }

  #look(filter: string, serverNowMs: number): View {
    const ofKind = { contended: [] as LockRow[], held: [] as LockRow[], free: [] as LockRow[] };
    const elections: LockRow[] = [];
    const jobs: JobRow[] = [];
    for (const entry of this.#entries) {
      if (filter !== '' && !searchedText(entry).includes(filter)) continue;
      const { row } = entry;
      jobs.push(...entry.jobs);
      if (row.kind === 'election') elections.push(row);
      else if (row.waiterCount > 0 || row.kind === 'corrupt') ofKind.contended.push(row);
      else ofKind[row.holderCount > 0 ? 'held' : 'free'].push(row);
    }
    const contention = (row: LockRow): number =>
      row.kind === 'corrupt' ? Infinity : row.waiterCount * (serverNowMs - (row.waiters[0]?.since ?? 0));
    const since = ({ holders }: LockRow): number => holders[0]?.since ?? 0;
    const ranked = [
      ...byMost(ofKind.contended, contention),
      ...byMost(ofKind.held, (row) => serverNowMs - since(row)),
      ...ofKind.free,
    ];
    return { locks: firstOf(ranked), elections: firstOf(elections), jobs: firstOf(jobs) };
  }

  #put(stored: StoredLock, isGapless: boolean): void {
    const { name, asOf, snapshot } = stored;
    const entry = this.#byName.get(name) ?? this.#insert(name);
    const leases = new Map(snapshot?.holders.map(({ id, expiresAt }) => [id, expiresAt.getTime()]));
    const ends = [
      ...leases.values(),
      ...(snapshot?.waiters ?? []).map(({ expiresAt }) => expiresAt.getTime()),
    ];
    const lost = [...entry.leases].filter(
      ([id, until]) => !leases.has(id) && !entry.left.has(id) && until <= asOf.getTime(),
    );
    entry.left.clear();
    if (isGapless) entry.losses += lost.length;
    if (isGapless) this.#losses += lost.length;
    entry.leases = leases;
    entry.endsAtMs = ends.reduce((first, end) => Math.min(first, end), Infinity);
    entry.searched = undefined;
    entry.row = rowOf(entry, lockRow(stored));
    entry.jobs = jobRows(stored).map((job) => ({ key: this.#keyOfJob(job), ...job }));
  }

  #insert(name: string): Entry {
    const key = (this.#keys += 1);
    const entry: Entry = {
      ...{ key, name, row: EMPTY, jobs: [], handOvers: 0, losses: 0 },
      ...{ leases: new Map(), left: new Set(), endsAtMs: Infinity, searched: undefined },
    };
    this.#byName.set(name, entry);
    this.#entries.splice(this.#placeOf(name), 0, entry);
    return entry;
  }

  #keyOfJob({ election, name }: Omit<JobRow, 'key'>): number {
    const id = JSON.stringify([election, name]);
    const key = this.#jobKeys.get(id) ?? (this.#keys += 1);
    this.#jobKeys.set(id, key);
    return key;
  }

  /** The index of the first entry whose name is not before this one. */
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

const rowOf = ({ key, handOvers, losses }: Entry, stored: StoredRow): LockRow => ({
  key,
  ...stored,
  handOvers,
  losses,
});

function byMost<R extends Row>(rows: readonly R[], amountOf: (row: R) => number): readonly R[] {
  const amounts = new Map(rows.map((row) => [row, amountOf(row)]));
  return [...rows].sort((a, b) => (amounts.get(b) ?? 0) - (amounts.get(a) ?? 0));
}

const firstOf = <R extends Row>(rows: readonly R[]): Ranked<R> => ({
  matching: rows.length,
  rows: rows.slice(0, SHOWN),
});

/** The name, the holders, the waiters and the jobs that are listed, in lower case. */
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
