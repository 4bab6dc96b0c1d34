import type { MongoClient, TopologyDescription, TopologyDescriptionChangedEvent } from 'mongodb';

/** A call without an answer so far. */
interface Call {
  /** The primary that it was sent to; `null`: it waits for a primary; `undefined`: the driver has not reported one. */
  primary: string | null | undefined;
  readonly onFollowed: (error: Error) => void;
}

const watches = new WeakMap<MongoClient, PrimaryWatch>();

/**
 * Ends the calls that wait for an answer from a primary that another one has replaced. A primary that stands still
 * closes no connection, and the driver goes on waiting for it, although its monitors know of the election. Without this
 * watch, the first grant after the election would come a whole `storeTimeoutMs` late (E17).
 *
 * All providers of a client share one, because Node warns of a leak at the eleventh listener.
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

  /** Returns the shared watch of this client. Call `leave` when it is not used any more. */
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
    // Later changes are not reported here, so this would become stale.
    this.#primary = undefined;
  }

  /** Calls back once when another primary replaces the present one. Returns a function to unsubscribe. */
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
    call.onFollowed(new Error(`no answer from ${primary}, and ${next} is the primary now`));
  }
}

function primaryOf({ servers }: TopologyDescription): string | null {
  for (const { type, address } of servers.values()) if (type === 'RSPrimary') return address;
  return null;
}
