import type { Document } from 'mongodb';
import type {
  DriverClient,
  DriverCommandOptions,
  DriverDb,
  DriverTopology,
  DriverTopologyChange,
} from '../driver-types.js';
import { SharedPerClient } from './shared-per-client.js';
import type { TopologyObserver } from './shared-per-client.js';
import { troubleOf } from './trouble.js';

export interface Sending {
  /**
   * False only if, according to the driver's monitors, no server was reachable at any time from the call of `sending`
   * until now.
   */
  mayHaveBeenSent(): boolean;
}

/**
 * Knows what the driver's monitors report about one client's servers, and connects the client again if its first
 * connect failed. All providers of a client share one `Connection`.
 */
export class Connection implements TopologyObserver {
  static readonly #shared = new SharedPerClient((client) => new Connection(client));
  readonly #client: DriverClient;
  /** `undefined` until the driver's first report, and again after `forget`. */
  #description: DriverTopology | undefined;
  /** True after a call of `closed`, until the next call of `changed` or `forget`. */
  #isClosed = false;
  /** How often the driver has begun to search for its servers. */
  #searches = 0;
  /** How often `closed` was called while `#description` was `undefined`. */
  #unreportedClosings = 0;
  /** How many of the changes that the driver reported showed a reachable server. */
  #reachableReports = 0;
  #reconnecting: Promise<void> | undefined;

  private constructor(client: DriverClient) {
    this.#client = client;
  }

  /** Returns the shared connection of this client. Each `join` needs one `leave`. */
  static join(client: DriverClient): Connection {
    return Connection.#shared.join(client);
  }

  leave(): void {
    Connection.#shared.leave(this.#client);
  }

  /** `SharedPerClient` calls `forget`, `closed` and `changed`. No other code does. */
  forget(): void {
    this.#description = undefined;
    this.#isClosed = false;
  }

  /**
   * The present trouble with the client's servers, as the driver's monitors report it; `undefined` if they have
   * reported none.
   */
  get trouble(): string | undefined {
    return this.#description === undefined ? undefined : troubleOf(this.#description, this.#client.options);
  }

  sending(): Sending {
    const reachableReports = this.#reachableReports;
    const couldReachAtStart = this.#couldReachNow();
    return {
      mayHaveBeenSent: () =>
        this.#mayReach || this.#reachableReports > reachableReports || couldReachAtStart(),
    };
  }

  /**
   * Runs a command as `db.command` does. If the command fails with a `MongoTopologyClosedError`, this method connects
   * the client again and repeats the command. A client that its owner has closed stays closed.
   *
   * The driver connects by itself only at its first command. If that connect fails, every later command fails with a
   * `MongoTopologyClosedError`, even when the server is back.
   */
  async command(
    db: DriverDb,
    command: Document,
    options: DriverCommandOptions & Aborting,
  ): Promise<Document> {
    try {
      return await db.command(command, options);
    } catch (error) {
      if (!(error instanceof Error && error.name === 'MongoTopologyClosedError')) throw error;
      await this.#reconnect();
      // Some versions of the driver ignore the signal.
      options.signal.throwIfAborted();
      return await db.command(command, options);
    }
  }

  async #reconnect(): Promise<void> {
    // A client that its owner has closed has no topology. The client stays closed, and the repeated command fails.
    if ('topology' in this.#client && this.#client.topology === undefined) return;
    this.#reconnecting ??= this.#client
      .connect()
      .then(() => undefined)
      .finally(() => (this.#reconnecting = undefined));
    await this.#reconnecting;
  }

  /**
   * Whether a command that is sent now may reach a server. Before the driver's first report the answer is true, except
   * after a close of the client or a failed first connect.
   */
  get #mayReach(): boolean {
    return !this.#isClosed && (this.#description === undefined || isReachable(this.#description));
  }

  /**
   * Returns a function that tells whether a server may have been reachable at the time of this call. If the driver has
   * reported nothing yet, only later reports show the answer. So the function is called after the command has failed.
   */
  #couldReachNow(): () => boolean {
    const [mayReach, isReported] = [this.#mayReach, this.#description !== undefined];
    if (!mayReach || isReported) return () => mayReach;
    const [searches, closings] = [this.#searches, this.#unreportedClosings];
    // The driver has reported nothing yet, so the client may be connected or not. A client that is not connected
    // begins a search before it reaches a server. A connected client begins one only after a close. So a search that
    // begins without a close before it proves that the client was not connected.
    return () => this.#searches === searches || this.#unreportedClosings > closings;
  }

  closed(): void {
    if (this.#description === undefined) this.#unreportedClosings += 1;
    this.#isClosed = true;
  }

  changed({ previousDescription, newDescription }: DriverTopologyChange): void {
    this.#description = newDescription;
    this.#isClosed = false;
    // The previous description has no servers only at the beginning of a search.
    if (previousDescription.servers.size === 0) this.#searches += 1;
    if (isReachable(newDescription)) this.#reachableReports += 1;
  }
}

interface Aborting {
  readonly signal: AbortSignal;
}

/** The types that the driver's monitors give to a server that does not answer. */
const UNANSWERED: ReadonlySet<string> = new Set(['Unknown', 'PossiblePrimary']);

const isReachable = ({ servers }: DriverTopology): boolean =>
  [...servers.values()].some(({ type }) => !UNANSWERED.has(type));
