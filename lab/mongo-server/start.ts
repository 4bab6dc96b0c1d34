import { MongoClient } from 'mongodb';
import { MongoMemoryReplSet, MongoMemoryServer } from 'mongodb-memory-server';

import { eventually } from '../patience.js';
import type { See } from '../patience.js';
import { DataFolders } from './data-folders.js';
import { findBinary } from './find-binary.js';
import { killMember, type Member, watchMember } from './members.js';
import type { MongodBinary, Say } from './mongod-binary.js';

export interface MongodOptions {
  /** Whether fail points (`configureFailPoint`) can be set. Default: true. */
  readonly testCommands?: boolean | undefined;
  /** What its storage engine may keep in memory, in GB: a write of 16 MB needs several times that. Default: 0.25. */
  readonly cacheGb?: number | undefined;
  /** More of what `--setParameter` takes. */
  readonly parameters?: readonly string[] | undefined;
  /** Told what goes on while a mongod is being fetched. Default: `console.log`. */
  readonly say?: Say | undefined;
}

export interface ReplicaSetOptions extends MongodOptions {
  /** Three members elect a new primary about two seconds after the old one is gone. Default: 1. */
  readonly members?: 1 | 3 | undefined;
}

export interface MongoServer extends AsyncDisposable {
  readonly uri: string;
  /** Which server this is, in words for people. */
  readonly description: string;
  /** Its processes; none if it was not started here. */
  readonly members: readonly Member[];
  /** Ends the processes and throws their data away; a server that was not started here is left alone. */
  stop(): Promise<void>;
}

const setName = 'leasehold';
// Left to itself, mongodb-memory-server runs versions before 7 on ephemeralForTest, which nobody has in production.
const storageEngine = 'wiredTiger';
const ip = '127.0.0.1';
const launchTimeoutMs = 60_000;
const electionTimeoutMs = 2000;

export async function startReplicaSet(options: ReplicaSetOptions = {}): Promise<MongoServer> {
  const count = options.members ?? 1;
  const binary = await findBinary(options.say ?? console.log);
  const data = await DataFolders.make(count);
  const set = new MongoMemoryReplSet({
    binary: asSystemBinary(binary),
    instanceOpts: data.folders.map((dbPath) => ({ dbPath, launchTimeout: launchTimeoutMs })),
    replSet: {
      name: setName,
      count,
      ip,
      storageEngine,
      args: mongodArguments(options),
      configSettings: { electionTimeoutMillis: electionTimeoutMs },
    },
  });
  await data.removeUnless(set.start());
  const server = present(binary, `replica set of ${count}`, set.servers, `?replicaSet=${setName}`, set, data);
  try {
    await allMembersUp(server.uri);
  } catch (error) {
    await server.stop();
    throw error;
  }
  return server;
}

/** A mongod without replication: no change streams and no transactions. */
export async function startStandalone(options: MongodOptions = {}): Promise<MongoServer> {
  const binary = await findBinary(options.say ?? console.log);
  const data = await DataFolders.make(1);
  const [dbPath = ''] = data.folders;
  const server = new MongoMemoryServer({
    binary: asSystemBinary(binary),
    instance: {
      ip,
      storageEngine,
      args: mongodArguments(options),
      dbPath,
      launchTimeout: launchTimeoutMs,
    },
  });
  await data.removeUnless(server.start());
  return present(binary, 'standalone', [server], '', server, data);
}

/** Naming the version that it truly has keeps mongodb-memory-server from warning about another one. */
function asSystemBinary(binary: MongodBinary): { systemBinary: string; version: string } {
  return { systemBinary: binary.path, version: binary.version };
}

function mongodArguments(options: MongodOptions): string[] {
  const parameters = ['diagnosticDataCollectionEnabled=false', ...(options.parameters ?? [])];
  if (options.testCommands ?? true) parameters.push('enableTestCommands=1');
  return [
    ...['--wiredTigerCacheSizeGB', String(options.cacheGb ?? 0.25)],
    // A killed mongod would leave its socket file behind.
    ...(process.platform === 'win32' ? [] : ['--nounixsocket']),
    ...parameters.flatMap((parameter) => ['--setParameter', parameter]),
  ];
}

function present(
  binary: MongodBinary,
  kind: string,
  servers: readonly MongoMemoryServer[],
  query: string,
  whole: Pick<MongoMemoryServer, 'stop'>,
  data: DataFolders,
): MongoServer {
  const members = servers.map(watchMember);
  const hosts = members.map(({ host, port }) => `${host}:${port}`).join(',');
  const stop = async () => {
    await Promise.all(members.map(killMember));
    await whole.stop({ doCleanup: false });
    data.remove();
  };
  return {
    uri: `mongodb://${hosts}/${query}`,
    description: `mongod ${binary.version} (${binary.origin}), ${kind} on ${hosts}`,
    members: members.map(({ host, port, pid }) => ({ host, port, pid })),
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

/** A primary alone is not enough: a test that kills it at once needs members that can take over. */
async function allMembersUp(uri: string): Promise<void> {
  const client = new MongoClient(uri);
  try {
    const areUp = async (see: See): Promise<boolean> => {
      const status = await client.db('admin').command({ replSetGetStatus: 1 });
      const members = see(status['members'] as readonly { stateStr: string }[]);
      return members.every(({ stateStr }) => stateStr === 'PRIMARY' || stateStr === 'SECONDARY');
    };
    await eventually('all members are up', areUp, launchTimeoutMs);
  } finally {
    await client.close();
  }
}
