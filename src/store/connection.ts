import type {
  Db,
  Document,
  MongoClient,
  RunCommandOptions,
  TopologyDescription,
  TopologyDescriptionChangedEvent,
} from 'mongodb';
import { troubleOf } from './trouble.js';

/** Whether one command can have reached a server. */
export interface Sending {
  /** False only if no server could be reached from the beginning of the call until now. */
  mayHaveBeenSent(): boolean;
}

const connections = new WeakMap<MongoClient, Connection>();

/**
 * The way of one client to its servers: what the driver's monitors know of them, and a new start for a client that could
 * not connect.
 *
 * One for all providers of a client: Node warns of a leak at the eleventh listener.
 */
export class Connection {
  readonly #client: MongoClient;
  readonly #listen = (event: TopologyDescriptionChangedEvent): void => {
    this.#changed(event);
  };
  #users = 0;
  /** The last one that the driver told; `undefined`: it has told none yet. */
  #description: TopologyDescription | undefined;
  /** How often the driver has begun to look for its servers. */
  #openings = 0;
  /** How often a change showed a server that a command can be sent to. */
  #sightings = 0;
  #reconnecting: Promise<void> | undefined;

  private constructor(client: MongoClient) {
    this.#client = client;
  }

  /** The connection of this client, until `leave`. */
  static join(client: MongoClient): Connection {
    const connection = connections.get(client) ?? new Connection(client);
    connections.set(client, connection);
    if (connection.#users === 0) client.on('topologyDescriptionChanged', connection.#listen);
    connection.#users += 1;
    return connection;
  }

  leave(): void {
    this.#users -= 1;
    if (this.#users > 0) return;
    this.#client.off('topologyDescriptionChanged', this.#listen);
    // Changes from now on are not heard.
    this.#description = undefined;
  }

  /** Why no server can be asked just now, in the words of the driver's monitors; `undefined`: they have not said. */
  get trouble(): string | undefined {
    return this.#description === undefined ? undefined : troubleOf(this.#description, this.#client.options);
  }

  /** Begins to follow one call. */
  sending(): Sending {
    const [openings, sightings, wasReachable] = [this.#openings, this.#sightings, this.#mayReach];
    return {
      mayHaveBeenSent: () =>
        this.#mayReach || this.#sightings > sightings || (wasReachable && this.#openings === openings),
    };
  }

  /**
   * Runs a command as `db.command` does. A driver connects by itself at its first command, and only then: if that fails,
   * every later command fails with a `MongoTopologyClosedError`, also when the server is there again. So the connection is
   * begun anew then.
   */
  async command(db: Db, command: Document, options: RunCommandOptions & Aborting): Promise<Document> {
    try {
      return await db.command(command, options);
    } catch (error) {
      if (!(error instanceof Error && error.name === 'MongoTopologyClosedError')) throw error;
      await this.#reconnect();
      // Not every version of the driver looks at the signal.
      options.signal.throwIfAborted();
      return await db.command(command, options);
    }
  }

  async #reconnect(): Promise<void> {
    // A client that its owner has closed has no topology. It stays closed, and says so itself when it is asked again.
    if ('topology' in this.#client && this.#client.topology === undefined) return;
    this.#reconnecting ??= this.#client
      .connect()
      .then(() => undefined)
      .finally(() => (this.#reconnecting = undefined));
    await this.#reconnecting;
  }

  /** Whether a command that is sent now may find a server; also if nobody has told. */
  get #mayReach(): boolean {
    return this.#description === undefined || isReachable(this.#description);
  }

  #changed({ previousDescription, newDescription }: TopologyDescriptionChangedEvent): void {
    this.#description = newDescription;
    // A client that begins to look for its servers comes from a description without any.
    if (previousDescription.servers.size === 0) this.#openings += 1;
    if (isReachable(newDescription)) this.#sightings += 1;
  }
}

interface Aborting {
  readonly signal: AbortSignal;
}

/** What the driver's monitors call a server that has not answered them. */
const UNANSWERED: ReadonlySet<string> = new Set(['Unknown', 'PossiblePrimary']);

const isReachable = ({ servers }: TopologyDescription): boolean =>
  [...servers.values()].some(({ type }) => !UNANSWERED.has(type));
