import { EventEmitter } from 'node:events';

import type { MongoClient } from 'mongodb';
import { describe, expect, it } from 'vitest';

import { Connection } from '../../../src/store/connection.js';

type Reported = 'none' | 'Unknown' | 'RSPrimary';

/** A client that reports what the test says. */
class ReportingClient extends EventEmitter {
  readonly connection = Connection.join(this as unknown as MongoClient);
  #last: Reported = 'none';

  /** The driver begins to search for its servers, and has not reached any of them so far. */
  beginsToConnect(): void {
    this.#last = 'none';
    this.reports('Unknown');
  }

  reports(next: Reported): void {
    const [previousDescription, newDescription] = [this.#last, next].map((type) => ({
      servers: new Map(type === 'none' ? [] : [['a:1', { address: 'a:1', type }]]),
    }));
    this.#last = next;
    this.emit('topologyDescriptionChanged', { previousDescription, newDescription });
  }

  closes(): void {
    this.emit('topologyClosed', {});
  }
}

describe('a command has surely not been sent', () => {
  it('if no server was reachable at any time', () => {
    const client = new ReportingClient();
    client.beginsToConnect();
    const sending = client.connection.sending();
    client.reports('Unknown');
    expect(sending.mayHaveBeenSent()).toBe(false);
  });

  it('if the client began to connect during the call, and failed', () => {
    const client = new ReportingClient();
    const sending = client.connection.sending();
    expect(sending.mayHaveBeenSent()).toBe(true);
    client.beginsToConnect();
    expect(sending.mayHaveBeenSent()).toBe(false);
    client.closes();
    expect(sending.mayHaveBeenSent()).toBe(false);
  });

  it('if the client was closed before the call, and began to connect again during the call', () => {
    const client = new ReportingClient();
    client.beginsToConnect();
    client.reports('RSPrimary');
    client.closes();
    const sending = client.connection.sending();
    client.beginsToConnect();
    expect(sending.mayHaveBeenSent()).toBe(false);
  });
});

describe('a command may have been sent', () => {
  it('if a server was reachable for a part of the call', () => {
    const client = new ReportingClient();
    client.beginsToConnect();
    const sending = client.connection.sending();
    client.reports('RSPrimary');
    client.reports('Unknown');
    expect(sending.mayHaveBeenSent()).toBe(true);
  });

  it.each([{ isKnown: true }, { isKnown: false }])(
    'if the client was closed during the call, and connects again (reported before: $isKnown)',
    ({ isKnown }) => {
      const client = new ReportingClient();
      if (isKnown) {
        client.beginsToConnect();
        client.reports('RSPrimary');
      }
      const sending = client.connection.sending();
      client.closes();
      expect(sending.mayHaveBeenSent()).toBe(true);
      client.beginsToConnect();
      expect(sending.mayHaveBeenSent()).toBe(true);
      client.closes();
      client.beginsToConnect();
      expect(sending.mayHaveBeenSent()).toBe(true);
    },
  );
});
