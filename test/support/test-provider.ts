import { randomBytes } from 'node:crypto';

import { MongoClient } from 'mongodb';
import type { CommandStartedEvent, Db, DbOptions, Document, MongoClientOptions } from 'mongodb';
import { afterAll, beforeAll, inject } from 'vitest';

import { LockProvider } from '../../src/index.js';
import type { LockProviderOptions } from '../../src/index.js';
import { untilTestEnds, whenFileEnds, whenTestEnds } from './current-test.js';
import { simulatedStore } from './simulated-store.js';

const COLLECTION = 'distributed.locks';

/** What the driver sends for itself, or to end what it has open. */
const DRIVERS_OWN: ReadonlySet<string> = new Set(['endSessions', 'getMore', 'killCursors']);

/** A name that no other test uses. In a simulation, it is the same in each run. */
export function randomName(prefix: string): string {
  return `${prefix}-${simulatedStore?.nextName() ?? randomBytes(6).toString('hex')}`;
}

/** One client, the commands that it has sent, and the providers made on it. */
export class OwnClient implements AsyncDisposable {
  readonly appName: string;
  readonly client: MongoClient;
  readonly db: Db;
  /** Everything sent so far, without what the driver sends for itself. */
  readonly commands: CommandStartedEvent[] = [];
  readonly #providers: LockProvider[] = [];

  constructor(uri: string, database: string, options: MongoClientOptions = {}, dbOptions?: DbOptions) {
    this.appName = options.appName ?? randomName('app');
    this.client =
      simulatedStore?.client(options, dbOptions) ??
      new MongoClient(uri, { ...options, appName: this.appName, monitorCommands: true });
    this.client.on('commandStarted', (event) => {
      if (!DRIVERS_OWN.has(event.commandName)) this.commands.push(event);
    });
    this.db = this.client.db(database, dbOptions);
  }

  /** How many commands of this name were sent so far. */
  count(commandName: string): number {
    return this.commands.filter((command) => command.commandName === commandName).length;
  }

  /** How many updates of this lock alone were sent so far. */
  countFor(lockName: string): number {
    return this.commands.filter(
      ({ command }) => (command['query'] as Document | undefined)?.['_id'] === lockName,
    ).length;
  }

  provider(options: LockProviderOptions = {}): LockProvider {
    const provider = new LockProvider(this.db, options);
    this.#providers.push(provider);
    return provider;
  }

  /** The stored document of this lock. */
  async document(name: string): Promise<Document | null> {
    return await this.db.collection<{ _id: string }>(COLLECTION).findOne({ _id: name });
  }

  /** Does something to a stored document behind the library's back. */
  async tamper(name: string, update: Document | Document[]): Promise<void> {
    simulatedStore?.tampered(this.db.databaseName);
    const stored = this.db.collection<{ _id: string }>(COLLECTION);
    await stored.updateOne({ _id: name }, update, { writeConcern: { w: 'majority' } });
  }

  async serverNowMs(): Promise<number> {
    const { localTime } = await this.db.command({ hello: 1 });
    return (localTime as Date).getTime();
  }

  /** Ends as the client of a process does that is killed: without a word to the server. */
  async die(): Promise<void> {
    await this.client.close();
  }

  /** What is still held is left to its lease: the database is thrown away next. */
  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#providers.map((provider) => provider.close({ drainMs: 0 })));
    await this.client.close();
  }
}

/** A client with one provider. */
export class TestProvider extends OwnClient {
  readonly database: OwnDatabase;
  readonly locks: LockProvider;

  constructor(database: OwnDatabase, options: LockProviderOptions, clientOptions: MongoClientOptions) {
    super(database.uri, database.name, clientOptions);
    this.database = database;
    this.locks = this.provider(options);
  }
}

/** A database for one test, thrown away with everything that was opened on it. */
export class OwnDatabase implements AsyncDisposable {
  readonly name = randomName('leasehold-test');
  readonly uri: string;
  /** A plain client, to look at what is stored and to tamper with it. */
  readonly plain: OwnClient;
  readonly #clients: OwnClient[] = [];
  readonly #endSimulation = simulatedStore?.open(this.name);

  constructor(uri: string = simulatedStore === undefined ? serverUri() : '') {
    this.uri = uri;
    this.plain = new OwnClient(uri, this.name);
  }

  client(options?: MongoClientOptions, dbOptions?: DbOptions): OwnClient {
    const client = new OwnClient(this.uri, this.name, options, dbOptions);
    this.#clients.push(client);
    return client;
  }

  /** A provider on a client of its own, which is connected. */
  async connected(
    options: LockProviderOptions = {},
    clientOptions: MongoClientOptions = {},
  ): Promise<TestProvider> {
    const provider = new TestProvider(this, options, clientOptions);
    this.#clients.push(provider);
    await provider.client.connect();
    return provider;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#clients.map((client) => client[Symbol.asyncDispose]()));
    if (simulatedStore === undefined) await this.#drop();
    await this.plain[Symbol.asyncDispose]();
    this.#endSimulation?.();
  }

  async #drop(): Promise<void> {
    // A server of the test itself may restart, which ends the connections of a client that stays.
    const isOfRun = this.uri === serverUri();
    const client = isOfRun ? dropping(this.uri) : this.plain.client;
    await client.db(this.name).dropDatabase();
  }
}

let droppingClient: MongoClient | undefined;

/** A client that the tests of a file share: to connect takes longer than to drop a database. */
function dropping(uri: string): MongoClient {
  if (droppingClient !== undefined) return droppingClient;
  const client = new MongoClient(uri);
  droppingClient = client;
  whenFileEnds(async () => {
    droppingClient = undefined;
    await client.close();
  });
  return client;
}

/** A database that is thrown away when the test ends. */
export const ownDatabase = (): OwnDatabase => untilTestEnds(new OwnDatabase());

/** A provider on a client and a database of its own, all of which end with the test. */
export async function testProvider(
  options?: LockProviderOptions,
  clientOptions?: MongoClientOptions,
): Promise<TestProvider> {
  return await ownDatabase().connected(options, clientOptions);
}

/** Two providers that share a database, as two processes would. */
export async function twoProviders(
  options?: LockProviderOptions,
  clientOptions?: MongoClientOptions,
): Promise<readonly [TestProvider, TestProvider]> {
  const one = await testProvider(options, clientOptions);
  return [one, await one.database.connected(options, clientOptions)];
}

let ownServerUri: string | undefined;

const serverUri = (): string => ownServerUri ?? inject('mongoUri');

/**
 * Lends a server to a test file until its tests have ended. A server has one `failCommand` fail point, so files that set it
 * would switch off each other's on a shared one. Documents of megabytes would fill the cache of a shared one, and keep the
 * requests of other files waiting for seconds. A file whose process dies keeps its server. Not by a number of the worker:
 * Vitest may give the number of a process to another one before the first has ended.
 */
export function useOwnServer(): void {
  if (simulatedStore !== undefined) return;
  beforeAll(async () => {
    ownServerUri = await fromDesk('borrow');
  });
  afterAll(async () => {
    if (ownServerUri !== undefined) await fromDesk(`return/${encodeURIComponent(ownServerUri)}`);
    ownServerUri = undefined;
  });
}

async function fromDesk(path: string): Promise<string> {
  const answer = await fetch(`${inject('ownServers')}/${path}`);
  const text = await answer.text();
  if (!answer.ok) throw new Error(`no server for this file: ${text}`);
  return text;
}

/** Makes commands of one client fail until the test ends, or `mode` is used up. */
export async function failCommands(
  { appName }: Pick<OwnClient, 'appName'>,
  mode: 'alwaysOn' | { times: number } | { skip: number },
  data: Document & { failCommands: string[] },
): Promise<() => Promise<void>> {
  // A client of its own: the faults may clear the pool of the one that they are meant for.
  const client = new MongoClient(serverUri());
  const admin = client.db('admin');
  await admin.command({ configureFailPoint: 'failCommand', mode, data: { ...data, appName } });
  const heal = async (): Promise<void> => {
    await admin.command({ configureFailPoint: 'failCommand', mode: 'off' });
  };
  whenTestEnds(async () => {
    await heal();
    await client.close();
  });
  return heal;
}
