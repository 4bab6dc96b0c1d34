import type { OnCommand, Place } from '../processes/connections.js';

export type ServerName = 'MongoDB' | 'Redis' | 'etcd';

export type Release = () => Promise<unknown>;

/** One process that uses locks through one library. */
export interface Contender {
  /** Waits as long as it takes. */
  acquire(name: string): Promise<Release>;
  close(): Promise<unknown>;
}

/** A library, as it is used here. */
export interface Library {
  readonly server: ServerName;
  /** Its way to wait, and the settings that differ from its defaults. */
  readonly waits: string;
  /** The commands that it sends, as its server counts them; calls inside a script do not count. */
  readonly sends: readonly string[];
  /** Only leasehold calls `onCommand`. */
  connect(place: Place, onCommand?: OnCommand): Promise<Contender>;
}
