import { randomBytes } from 'node:crypto';
import { MongoClient } from 'mongodb';
import type { CommandStartedEvent, Db, Document, MongoClientOptions } from 'mongodb';
import { afterAll, beforeAll, inject } from 'vitest';
import { LockProvider } from '../../src/index.js';
import type { LockProviderOptions } from '../../src/index.js';
import { whenTestEnds } from './current-test.js';
import { startReplicaSet } from '../../lab/mongo-server/start.js';
import type { MongoServer } from '../../lab/mongo-server/start.js';

/** A provider on a client of its own, both closed when the test ends. */
export interface TestProvider {
  readonly client: MongoClient;
  readonly db: Db;
  readonly locks: LockProvider;
  readonly appName: string;
  /** Commands of this client, without what the driver sends for itself. */
  readonly commands: CommandStartedEvent[];
  /** The stored documents. */
  document(name: string): Promise<Document | null>;
  /** Does something to a stored document behind the library's back. */
  tamper(name: string, update: Document | Document[]): Promise<void>;
  serverNowMs(): Promise<number>;
}

/** The events that the server answers about once a second, and the driver's own. */
const BACKGROUND: readonly string[] = ['getMore', 'killCursors', 'endSessions'];

const COLLECTION = 'distributed.locks';

export const randomName = (prefix: string): string => `${prefix}-${randomBytes(4).toString('hex')}`;

let ownServer: MongoServer | undefined;

const serverUri = (): string => ownServer?.uri ?? inject('mongoUri');

/**
 * Gives a test file a server of its own. A server has one `failCommand` fail point, so files that set it would switch
 * off each other's on a shared one.
 */
export function useOwnServer(): void {
  beforeAll(async () => {
    ownServer = await startReplicaSet({ say: () => undefined });
  });
  afterAll(async () => {
    await ownServer?.stop();
    ownServer = undefined;
  });
}

/** The faults of a test may have cleared the pool of its own client just now. */
async function dropByAnother(database: string): Promise<void> {
  const client = new MongoClient(serverUri());
  await client.db(database).dropDatabase();
  await client.close();
}

export async function testProvider(
  options: LockProviderOptions = {},
  { database = randomName('test'), ...clientOptions }: MongoClientOptions & { database?: string } = {},
): Promise<TestProvider> {
  const appName = randomName('app');
  const client = new MongoClient(serverUri(), {
    appName,
    monitorCommands: true,
    ...clientOptions,
  });
  const commands: CommandStartedEvent[] = [];
  client.on('commandStarted', (event) => {
    if (!BACKGROUND.includes(event.commandName)) commands.push(event);
  });
  await client.connect();
  const db = client.db(database);
  const locks = new LockProvider(db, options);
  whenTestEnds(async () => {
    await locks.close({ drainMs: 0 });
    await db.dropDatabase().catch(() => dropByAnother(database));
    await client.close();
  });
  const stored = db.collection<{ _id: string }>(COLLECTION);
  return {
    client,
    db,
    locks,
    appName,
    commands,
    document: (name) => stored.findOne({ _id: name }),
    tamper: async (name, update) => {
      await stored.updateOne({ _id: name }, update, { writeConcern: { w: 'majority' } });
    },
    serverNowMs: async () => {
      const { localTime } = await db.command({ hello: 1 });
      return (localTime as Date).getTime();
    },
  };
}

/** Two providers that share a database, as two processes would. */
export async function twoProviders(
  options: LockProviderOptions = {},
): Promise<readonly [TestProvider, TestProvider]> {
  const database = randomName('test');
  return [await testProvider(options, { database }), await testProvider(options, { database })];
}

/** Makes commands of one client fail until the test ends, or `mode` is used up. */
export async function failCommands(
  { appName }: TestProvider,
  mode: 'alwaysOn' | { times: number },
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
