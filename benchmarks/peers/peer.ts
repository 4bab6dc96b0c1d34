/** Where a library finds its server. */
export interface Place {
  readonly uri: string;
  /** Of a database that nobody else uses; empty where the server is for nobody else. */
  readonly dbName: string;
}

/** Gives the lock back. */
export type Release = () => Promise<unknown>;

/** The name of the one lock that all want. */
export const LOCK_NAME = 'contended';

/** One process as it contends for the lock, through one library. */
export interface Contender {
  /** Waits as long as it takes. */
  acquire(): Promise<Release>;
  close(): Promise<void>;
}

/** A library, in the way in which it is used here. */
export interface Peer {
  readonly server: 'MongoDB' | 'Redis' | 'etcd' | 'PostgreSQL';
  /** How it waits, and the settings that are not its defaults. */
  readonly waits: string;
  /** The commands that it sends, as its server counts them; what a script calls inside the server is none. */
  readonly sends: readonly string[];
  /** False: it stands beside, without a gate, because it does another service. */
  readonly isGated: boolean;
  connect(place: Place): Promise<Contender>;
}
