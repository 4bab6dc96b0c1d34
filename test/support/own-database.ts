import { randomBytes } from 'node:crypto';

import { MongoClient } from 'mongodb';
import type { CommandStartedEvent, Db, DbOptions, MongoClientOptions } from 'mongodb';

import { LockProvider } from '../../src/index.js';
import type { LockProviderOptions } from '../../src/index.js';

export const randomName = (prefix: string): string => `${prefix}-${randomBytes(6).toString('hex')}`;

/** What the driver sends for itself, or to end what it has open. */
const DRIVERS_OWN: ReadonlySet<string> = new Set(['endSessions', 'getMore', 'killCursors']);

/** One client, the commands it has sent, and the providers made on it. */
export class OwnClient implements AsyncDisposable {
  readonly client: MongoClient;
  readonly db: Db;
  readonly #commands: CommandStartedEvent[] = [];
  readonly #providers: LockProvider[] = [];

  constructor(uri: string, database: string, options: MongoClientOptions = {}, dbOptions?: DbOptions) {
    this.client = new MongoClient(uri, { ...options, monitorCommands: true });
    this.client.on('commandStarted', (event) => {
      if (!DRIVERS_OWN.has(event.commandName)) this.#commands.push(event);
    });
    this.db = this.client.db(database, dbOptions);
  }

  /** Everything sent so far, but for what the driver sends for itself. */
  get commands(): readonly CommandStartedEvent[] {
    return this.#commands;
  }

  /** How many commands of this name were sent so far. */
  count(commandName: string): number {
    return this.#commands.filter((command) => command.commandName === commandName).length;
  }

  provider(options: LockProviderOptions = {}): LockProvider {
    const provider = new LockProvider(this.db, options);
    this.#providers.push(provider);
    return provider;
  }

  /** What is still held is left to its lease: the database is thrown away next. */
  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#providers.map((provider) => provider.close({ drainMs: 0 })));
    await this.client.close();
  }
}

/** A database for one test, thrown away with everything that was opened on it. */
export class OwnDatabase implements AsyncDisposable {
  readonly name = randomName('leasehold-test');
  readonly uri: string;
  /** A plain client, to look at what is stored and to tamper with it. */
  readonly plain: OwnClient;
  readonly #clients: OwnClient[] = [];

  constructor(uri: string) {
    this.uri = uri;
    this.plain = this.client();
  }

  client(options?: MongoClientOptions, dbOptions?: DbOptions): OwnClient {
    const client = new OwnClient(this.uri, this.name, options, dbOptions);
    this.#clients.push(client);
    return client;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const others = this.#clients.filter((client) => client !== this.plain);
    await Promise.all(others.map((client) => client[Symbol.asyncDispose]()));
    await this.plain.db.dropDatabase();
    await this.plain[Symbol.asyncDispose]();
  }
}
