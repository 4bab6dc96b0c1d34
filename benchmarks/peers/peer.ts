/** Where a library finds its server. */
export interface Place {
  readonly uri: string;
  /** A database for this run alone; empty if the whole server is for this run alone. */
  readonly dbName: string;
}

export type Release = () => Promise<unknown>;

/** The name of the one lock that all processes want. */
export const LOCK_NAME = 'contended';

/** One process that contends for the lock through one library. */
export interface Contender {
  /** Waits as long as it takes. */
  acquire(): Promise<Release>;
  close(): Promise<void>;
}

/** A library, as it is used here. */
export interface Peer {
  readonly server: 'MongoDB' | 'Redis' | 'etcd' | 'PostgreSQL';
  /** How it waits, and the settings that differ from its defaults. */
  readonly waits: string;
  /** The commands that it sends, as its server counts them; calls inside a script do not count. */
  readonly sends: readonly string[];
  /** False if it is shown without a gate, because it is another service. */
  readonly isGated: boolean;
  connect(place: Place): Promise<Contender>;
}

/** A server that one or more of the peers use. */
export interface PeerServer extends AsyncDisposable {
  readonly place: Place;
  /** Version and settings. */
  readonly description: string;
  /** What is left of its locks after its machine has crashed. */
  readonly survives: string;
  /** How often each command came so far; empty if the server does not count them. */
  countCommands(): Promise<ReadonlyMap<string, number>>;
  /** Processor time that it has used so far; `undefined` if it is not known. */
  processorMs(): number | undefined;
}
