import { MongoClient } from 'mongodb';
import { LockProvider } from '../../src/index.js';
import type { LockProviderOptions } from '../../src/index.js';

/** Where a process finds its server. */
export interface Place {
  readonly uri: string;
  /** A database for this run alone; empty if the whole server is for this run alone. */
  readonly dbName: string;
}

/** Is told the name of every command that is sent. */
export type OnCommand = (name: string) => void;

let place: Place | undefined;
const clients: MongoClient[] = [];
const providers: LockProvider[] = [];

/** The connections of this process. */
export const connections = {
  connect(to: Place): Promise<void> {
    place = to;
    return Promise.resolve();
  },

  /** Ends all connections; new ones may follow. */
  async close(): Promise<void> {
    await Promise.all(providers.splice(0).map((locks) => locks.close()));
    await Promise.all(clients.splice(0).map((client) => client.close()));
  },
};

/** Monitoring commands costs time, so a client does it only for a listener. */
export function newClient(uri: string, onCommand?: OnCommand): MongoClient {
  const client = new MongoClient(uri, { monitorCommands: onCommand !== undefined });
  client.on('commandStarted', ({ commandName }) => onCommand?.(commandName));
  clients.push(client);
  return client;
}

/** Each provider has a client of its own. */
export function newProvider(options: LockProviderOptions = {}, onCommand?: OnCommand): LockProvider {
  const { uri, dbName } = connectedPlace();
  const locks = new LockProvider(newClient(uri, onCommand).db(dbName), options);
  providers.push(locks);
  return locks;
}

export function connectedPlace(): Place {
  if (place === undefined) throw new Error('connect was not called');
  return place;
}
