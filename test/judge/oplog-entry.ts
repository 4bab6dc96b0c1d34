import type { Document, Timestamp } from 'mongodb';

/** One version of one lock document follows another; `null` where there is none. */
export interface Change {
  readonly name: string;
  readonly before: Document | null;
  readonly after: Document | null;
  readonly term: number;
  readonly wallMs: number;
  /** The update began before this time: see `LaterWalls`. Absent if the clock of the entries is exact. */
  readonly laterWallMs?: number | undefined;
  readonly ts: Timestamp;
}

/** What an entry has in common with an operation inside `applyOps`, as far as it is read. */
export interface OplogOperation {
  readonly op: string;
  readonly ns: string;
  readonly o: Document;
  readonly o2?: Document;
}

export interface OplogEntry extends OplogOperation {
  readonly ts: Timestamp;
  readonly t: unknown;
  readonly wall: Date;
  readonly lsid?: Document;
  readonly txnNumber?: unknown;
}
