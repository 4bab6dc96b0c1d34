import type { DriverClient, DriverTopologyChange } from '../driver-types.js';

const CHANGED = 'topologyDescriptionChanged';
const CLOSED = 'topologyClosed';

export interface TopologyObserver {
  changed(event: DriverTopologyChange): void;
  /**
   * The client was closed, or its first connect has failed. The client has no connection until it searches for its
   * servers again.
   */
  closed(): void;
  /**
   * The last user of the observer has left. Until another user joins, the observer gets no reports, so it must forget
   * what could become stale.
   */
  forget(): void;
}

interface Share<T> {
  readonly observer: T;
  readonly changed: (event: DriverTopologyChange) => void;
  readonly closed: () => void;
  users: number;
}

/**
 * One observer for each client. All providers of a client share it, because Node warns of a leak at the eleventh
 * listener for an event.
 */
export class SharedPerClient<T extends TopologyObserver> {
  readonly #create: (client: DriverClient) => T;
  readonly #shares = new WeakMap<DriverClient, Share<T>>();

  constructor(create: (client: DriverClient) => T) {
    this.#create = create;
  }

  /** Returns the observer of this client. Each `join` needs one `leave`. */
  join(client: DriverClient): T {
    const share = this.#shares.get(client) ?? this.#newShare(client);
    if (share.users === 0) {
      client.on(CHANGED, share.changed);
      client.on(CLOSED, share.closed);
    }
    share.users += 1;
    return share.observer;
  }

  leave(client: DriverClient): void {
    const share = this.#shares.get(client);
    if (share === undefined) return;
    share.users -= 1;
    if (share.users > 0) return;
    client.off(CHANGED, share.changed);
    client.off(CLOSED, share.closed);
    share.observer.forget();
  }

  #newShare(client: DriverClient): Share<T> {
    const observer = this.#create(client);
    const share = {
      observer,
      changed: (event: DriverTopologyChange): void => {
        observer.changed(event);
      },
      closed: (): void => {
        observer.closed();
      },
      users: 0,
    };
    this.#shares.set(client, share);
    return share;
  }
}
