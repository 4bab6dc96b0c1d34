import { type Document, MongoClient } from 'mongodb';

import { NoServerError } from './mongod-binary.js';
import { type MongoServer, type ReplicaSetOptions, startReplicaSet } from './start.js';

const answerTimeoutMs = 5000;

/** The server of MONGODB_URI as it is, else a replica set of our own; says in one line which it is. */
export async function connectOrStart(options: ReplicaSetOptions = {}): Promise<MongoServer> {
  const say = options.say ?? console.log;
  const uri = process.env['MONGODB_URI'] ?? '';
  const server = uri === '' ? await startReplicaSet(options) : await running(uri);
  say(`leasehold: ${server.description}`);
  return server;
}

async function running(uri: string): Promise<MongoServer> {
  const stop = async () => Promise.resolve();
  return { uri, description: await describe(uri), members: [], stop, [Symbol.asyncDispose]: stop };
}

async function describe(uri: string): Promise<string> {
  try {
    const client = new MongoClient(uri, { serverSelectionTimeoutMS: answerTimeoutMs });
    try {
      const admin = client.db('admin');
      const [hello, build] = await Promise.all([
        admin.command({ hello: 1 }),
        admin.command({ buildInfo: 1 }),
      ]);
      // The hosts as given and not the URI, which may hold a password.
      const hosts = client.options.hosts.map(String).join(',');
      return `MONGODB_URI, mongod ${build['version'] as string}, ${kindOf(hello)} on ${hosts}`;
    } finally {
      await client.close();
    }
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new NoServerError(`MONGODB_URI: ${why}. Correct it, or unset it.`, { cause: error });
  }
}

function kindOf(hello: Document): string {
  if (hello['msg'] === 'isdbgrid') return 'sharded cluster';
  const hosts = hello['hosts'] as readonly string[] | undefined;
  return hosts === undefined ? 'standalone without change streams' : `replica set of ${hosts.length}`;
}
