// What the server sends to the page, as JSON in server-sent events, and what the page posts. All points in time are by
// the clock of the MongoDB server, in ms since 1970. The page imports these types and nothing else from the server.

/** One live lease. */
export interface HolderRow {
  readonly id: string;
  /**
   * The candidate id, if there is one and it is not the process id. Otherwise the label of the provider or, without a
   * label, the process id.
   */
  readonly who: string;
  readonly process: string;
  readonly why?: string | undefined;
  /** The mode of a reader-writer lock, or the permits of a semaphore. */
  readonly mode?: string | undefined;
  /** Election only: the value that the leader publishes. */
  readonly value?: string | undefined;
  readonly token: number;
  readonly since: number;
  readonly until: number;
}

/** One live waiter. */
export interface WaiterRow {
  readonly who: string;
  readonly process: string;
  readonly why?: string | undefined;
  readonly mode?: string | undefined;
  readonly since: number;
}

/** A row of the page. The key names the row in later messages. No other row of the same dashboard gets this key. */
export interface Row {
  readonly key: number;
  readonly name: string;
}

/** A lock or an election. All holders and waiters are counted, but if there are many, only the first are listed. */
export interface LockRow extends Row {
  /** `corrupt`: the stored document is not well-formed, or no row can be made of it. */
  readonly kind: 'mutex' | 'reader-writer' | 'semaphore' | 'election' | 'corrupt';
  readonly limit?: number | undefined;
  readonly holders: readonly HolderRow[];
  readonly holderCount: number;
  readonly waiters: readonly WaiterRow[];
  readonly waiterCount: number;
  /** How many grants to waiters, and granted upgrades, the dashboard has seen. */
  readonly handOvers: number;
  /** How many leases the dashboard has seen run out. */
  readonly losses: number;
}

export interface JobRow extends Row {
  readonly election: string;
  /** The last run; `null` if none is stored. */
  readonly last: {
    readonly firedAt: number;
    readonly by: string;
    /** `unknown`: no outcome is stored and the term of the run is over, or an unforeseen outcome is stored. */
    readonly outcome: 'running' | 'completed' | 'failed' | 'missed' | 'unknown';
    readonly durationMs: number | null;
  } | null;
  /** The next instant of the schedule; `null` if none after the last claimed instant is stored. */
  readonly next: number | null;
  /** The last claimed instant, if that claim began no run; otherwise `null`. */
  readonly missed: number | null;
}

/**
 * What has changed in one list of the page since the last message that had `found`. The first one of a connection has
 * the whole list.
 */
export interface ListChange<R extends Row> {
  /** How many rows match the filter. */
  readonly matching: number;
  /** The keys of all shown rows in their order; absent if the order has not changed. */
  readonly order?: readonly number[] | undefined;
  /** The shown rows that are new or have changed. */
  readonly rows: readonly R[];
}

/**
 * - `connecting`: the first read is not complete.
 * - `live`: a change stream reports every change.
 * - `polling`: there is no change stream, and all locks are read again and again.
 * - `unavailable`: the change stream has broken or could not be opened, or a read has failed. So what is shown may be
 *   old.
 */
export type BoardState = 'connecting' | 'live' | 'polling' | 'unavailable';

/** What the server sends to the page: the state, the totals, and what has changed of the rows that match the filter. */
export interface BoardMessage {
  readonly state: BoardState;
  /** Why the state is `polling`; absent in every other state. */
  readonly why?: string | undefined;
  /** The estimated time of the MongoDB server when the message was made. */
  readonly now: number;
  readonly mayRevoke: boolean;
  readonly totals: Totals;
  /** The number of hand-overs in each of the last 60 seconds, the oldest first. */
  readonly handOvers: readonly number[];
  /** Absent while the filter waits for its first search. */
  readonly found?: Found | undefined;
}

/** What has changed of the rows that match the filter. The first one of a connection has every shown row. */
export interface Found {
  /**
   * How old the rows may be, in ms; 0 if they are current. The longer of two times: the time since the rows were
   * searched, if the board has changed since then, and the time since the board stopped following the store (while the
   * server of the page polls, since the last read).
   */
  readonly ageMs: number;
  readonly locks: ListChange<LockRow>;
  readonly elections: ListChange<LockRow>;
  readonly jobs: ListChange<JobRow>;
}

/**
 * The numbers of stored locks, elections and jobs. An election does not count as a lock. `losses` is the number of
 * leases that the dashboard has seen run out, those of elections too.
 */
export interface Totals {
  readonly locks: number;
  readonly elections: number;
  readonly jobs: number;
  /** How many locks have a holder. */
  readonly held: number;
  /** How many waiters all locks have, without the standbys of elections. */
  readonly waiting: number;
  readonly losses: number;
}

/** What the page posts to `revoke`. */
export interface RevokeRequest {
  readonly name: string;
  readonly id?: string | undefined;
  readonly why?: string | undefined;
  readonly force?: boolean | undefined;
}
