import { join } from 'node:path';

import { MongoClient } from 'mongodb';
import type { Db, Document } from 'mongodb';
import { afterAll, beforeAll } from 'vitest';

import { QuorumLockProvider } from '../../../src/quorum/index.js';
import type { QuorumLockProviderOptions } from '../../../src/quorum/index.js';
import { ControlledMember } from '../../../lab/cluster/fault-member.js';
import type { FaultMember } from '../../../lab/cluster/fault-member.js';
import { startFaultProxy } from '../../../lab/cluster/fault-proxy.js';
import { Ground } from '../../../lab/cluster/ground.js';
import { MongodProcess } from '../../../lab/cluster/mongod-process.js';
import { freePort } from '../../../lab/ports.js';
import { whenTestEnds } from '../../support/current-test.js';
import { findBinary } from '../../../lab/mongo-server/find-binary.js';
import { randomName } from '../../support/test-provider.js';
import { eventually } from '../../../lab/patience.js';

const COUNT = 3;
const START_MS = 60_000;

/** Independent replica sets of one member each, which can be killed, stopped and started again. */
export interface Deployments {
  readonly members: readonly FaultMember[];
  /** A provider on clients of its own, closed when the test ends. All providers of a test file use one database. */
  provider(options?: QuorumLockProviderOptions): QuorumLockProvider;
  /** A database of one deployment, on a client that is closed when the test ends. */
  db(index: number): Db;
  /** The lock document of one deployment. */
  document(index: number, name: string): Promise<Document | null>;
  /** Ends all faults, starts what is down, and waits until each deployment takes writes. */
  heal(): Promise<void>;
}

/** Three deployments for one test file. */
export function useThreeDeployments(): Deployments {
  let ground: Ground | undefined;
  let started: readonly ControlledMember[] = [];
  beforeAll(async () => {
    ground = new Ground([]);
    started = await layOut(ground);
    await Promise.all(started.map(initiate));
  });
  afterAll(async () => {
    await ground?.clear();
  });
  const database = randomName('quorum');
  const db = (index: number): Db => {
    const client = new MongoClient(uriOf(memberAt(started, index)), { serverSelectionTimeoutMS: 60_000 });
    whenTestEnds(() => client.close());
    return client.db(database);
  };
  return {
    get members() {
      return started;
    },
    db,
    provider: (options) => {
      const dbs = started.map(({ index }) => db(index));
      const locks = new QuorumLockProvider(dbs, { createIndexes: false, ...options });
      whenTestEnds(() => locks.close({ drainMs: 0 }));
      return locks;
    },
    document: async (index, name) =>
      db(index).collection<{ _id: string }>('distributed.locks').findOne({ _id: name }),
    heal: async () => {
      await Promise.all(started.map(well));
    },
  };
}

function memberAt(members: readonly ControlledMember[], index: number): ControlledMember {
  const member = members[index];
  if (member === undefined) throw new Error(`there is no deployment ${index}`);
  return member;
}

const setName = (index: number): string => `store-${index}`;

const uriOf = ({ host, index }: FaultMember): string => `mongodb://${host}/?replicaSet=${setName(index)}`;

async function layOut(ground: Ground): Promise<readonly ControlledMember[]> {
  const binary = await findBinary(() => undefined);
  const members: ControlledMember[] = [];
  for (let index = 0; index < COUNT; index += 1) {
    const mongod = new MongodProcess({
      binary: binary.path,
      setName: setName(index),
      port: await freePort(),
      dataFolder: ground.dataFolder(index),
      logFile: join(ground.folder, `${setName(index)}.log`),
      environment: {},
    });
    const member = new ControlledMember(index, await startFaultProxy(mongod.plan.port), mongod, undefined);
    ground.occupy(mongod, member);
    members.push(member);
  }
  return members;
}

async function initiate(member: ControlledMember): Promise<void> {
  await member.restart();
  const config = {
    _id: setName(member.index),
    members: [{ _id: 0, host: member.host }],
    settings: { electionTimeoutMillis: 1_000 },
  };
  await member.admin({ replSetInitiate: config }, START_MS);
  await untilWritable(member);
}

async function well(member: ControlledMember): Promise<void> {
  member.proxy.heal();
  member.continue();
  await member.restart();
  await untilWritable(member);
}

const untilWritable = (member: ControlledMember): Promise<unknown> =>
  eventually(
    `deployment ${member.index} takes writes`,
    async () => {
      const hello = await member.admin({ hello: 1 }).catch((): Document => ({}));
      return hello['isWritablePrimary'] === true;
    },
    START_MS,
  );
