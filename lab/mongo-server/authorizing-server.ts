import { MongoClient } from 'mongodb';
import type { Document } from 'mongodb';
import { MongoMemoryReplSet } from 'mongodb-memory-server';

import { findBinary } from './find-binary.js';
import { killMember, watchMember } from './members.js';

const ROOT = { customRootName: 'root', customRootPwd: 'of-a-test' } as const;
const PASSWORD = 'of-a-user';

/** A replica set of one that asks who you are, for tests of what a user may not do. */
export interface AuthorizingServer extends AsyncDisposable {
  /** For whoever may do everything. */
  readonly rootUri: string;
  /** Makes a user who may do this and nothing else; returns the URI to connect by as that user. */
  uriOfUser(name: string, privileges: readonly Document[]): Promise<string>;
  /** Takes all privileges from a user of `uriOfUser`, whose connections stay open. */
  revokeAll(name: string): Promise<void>;
}

export async function startAuthorizingServer(): Promise<AuthorizingServer> {
  const { path, version } = await findBinary(console.log);
  const set = new MongoMemoryReplSet({
    binary: { systemBinary: path, version },
    replSet: {
      name: 'authorizing',
      count: 1,
      ip: '127.0.0.1',
      storageEngine: 'wiredTiger',
      args: ['--wiredTigerCacheSizeGB', '0.25', '--nounixsocket'],
      auth: { enable: true, ...ROOT },
    },
  });
  await set.start();
  const members = set.servers.map(watchMember);
  const hosts = members.map(({ host, port }) => `${host}:${port}`).join(',');
  const uriOf = (user: string, password: string): string =>
    `mongodb://${user}:${password}@${hosts}/?replicaSet=authorizing&authSource=admin`;
  const rootUri = uriOf(ROOT.customRootName, ROOT.customRootPwd);
  const root = new MongoClient(rootUri);
  return {
    rootUri,
    async uriOfUser(name, privileges) {
      const admin = root.db('admin');
      await admin.command({ createRole: `role of ${name}`, privileges, roles: [] });
      await admin.command({ createUser: name, pwd: PASSWORD, roles: [`role of ${name}`] });
      return uriOf(name, PASSWORD);
    },
    async revokeAll(name) {
      await root.db('admin').command({ updateUser: name, roles: [] });
    },
    async [Symbol.asyncDispose]() {
      await root.close();
      await Promise.all(members.map(killMember));
      await set.stop({ doCleanup: true, force: true });
    },
  };
}
