import type { MongoClient, TopologyDescriptionChangedEvent } from 'mongodb';

const EVENT = 'topologyDescriptionChanged';

/** Learns from what the driver's monitors report. */
export interface TopologyObserver {
  changed(event: TopologyDescriptionChangedEvent): void;
  /** The last user has left. Later changes are not reported, so the observer must forget what would become stale. */
  forget(): void;
}

interface Share<T> {
  readonly observer: T;
  readonly listener: (event: TopologyDescriptionChangedEvent) => void;
  users: number;
}

/**
 * One observer for each client. All providers of a client share it, because Node warns of a leak at the eleventh
 * listener.
 */
export class SharedPerClient<T extends TopologyObserver> {
  readonly #create: (client: MongoClient) => T;
  readonly #shares = new WeakMap<MongoClient, Share<T>>();

  constructor(create: (client: MongoClient) => T) {
    this.#create = create;
  }

  /** Returns the observer of this client. Call `leave` when it is not used any more. */
  join(client: MongoClient): T {
    const share = this.#shares.get(client) ?? this.#newShare(client);
    if (share.users === 0) client.on(EVENT, share.listener);
    share.users += 1;
    return share.observer;
  }

  leave(client: MongoClient): void {
    const share = this.#shares.get(client);
    if (share === undefined) return;
    share.users -= 1;
    if (share.users > 0) return;
    client.off(EVENT, share.listener);
    share.observer.forget();
  }

  #newShare(client: MongoClient): Share<T> {
    const observer = this.#create(client);
    const listener = (event: TopologyDescriptionChangedEvent): void => {
      observer.changed(event);
    };
    const share = { observer, listener, users: 0 };
    this.#shares.set(client, share);
    return share;
  }
}
