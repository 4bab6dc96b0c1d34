import type { Db } from 'mongodb';

/** One of the independent replica sets of a quorum. `heal` ends what the other methods have done to it. */
export interface Deployment {
  /** Its connections end, and it accepts no others. Its documents stay. */
  kill(): Promise<void>;
  /** It answers no request and accepts no data, but its connections stay open. */
  hang(): void;
  /** It answers each request at least so much later. */
  delay(ms: number): void;
  /** Resolves when it takes writes again. */
  heal(): Promise<void>;
  /** A database on a client of its own, which is closed when the test ends. */
  db(name: string): Db;
  /** The clock by which leases expire here. */
  now(): Date;
}
