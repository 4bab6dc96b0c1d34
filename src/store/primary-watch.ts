import type { MongoClient, TopologyDescription, TopologyDescriptionChangedEvent } from 'mongodb';

/** A call that has not been answered. */
interface Call {
  /** Whom it was sent to; `null`: it waits for a primary; `undefined`: nobody has told. */
  primary: string | null | undefined;
  readonly onFollowed: (error: Error) => void;
}

const watches = new WeakMap<MongoClient, PrimaryWatch>();

/**
 * Tells whoever waits for an answer of a primary that another one has followed it. A primary that stands still closes no
 * connection, and a driver goes on waiting for it, though its monitors have long heard of the election: without this,
 * the first grant after it comes a whole `storeTimeoutMs` late.
 *
 * One for all providers of a client: Node warns of a leak at the eleventh listener.
 */
export class PrimaryWatch {
  readonly #client: MongoClient;
  readonly #calls = new Set<Call>();
  readonly #listen = (event: TopologyDescriptionChangedEvent): void => {
    this.#changed(event);
  };
  #users = 0;
  #primary: string | null | undefined;

  private constructor(client: MongoClient) {
    this.#client = client;
  }

  /** The watch of this client, until `leave`. */
  static join(client: MongoClient): PrimaryWatch {
    const watch = watches.get(client) ?? new PrimaryWatch(client);
    watches.set(client, watch);
    if (watch.#users === 0) client.on('topologyDescriptionChanged', watch.#listen);
    watch.#users += 1;
    return watch;
  }

  leave(): void {
    this.#users -= 1;
    if (this.#users > 0) return;
    this.#client.off('topologyDescriptionChanged', this.#listen);
    // What changes from now on is not heard.
    this.#primary = undefined;
  }

  /** Calls back once if another primary follows the one that is asked now. Returns what ends that. */
  asking(onFollowed: (error: Error) => void): () => void {
    const call: Call = { primary: this.#primary, onFollowed };
    this.#calls.add(call);
    return () => this.#calls.delete(call);
  }

  #changed({ previousDescription, newDescription }: TopologyDescriptionChangedEvent): void {
    const next = primaryOf(newDescription);
    this.#primary = next;
    if (next === null) return;
    const before = primaryOf(previousDescription);
    for (const call of this.#calls) {
      const { primary = before } = call;
      if (primary === null) call.primary = next;
      else if (primary !== next) this.#followed(call, primary, next);
    }
  }

  #followed(call: Call, primary: string, next: string): void {
    this.#calls.delete(call);
    call.onFollowed(new Error(`no answer of ${primary}, and ${next} is the primary now`));
  }
}

function primaryOf({ servers }: TopologyDescription): string | null {
  for (const { type, address } of servers.values()) if (type === 'RSPrimary') return address;
  return null;
}
