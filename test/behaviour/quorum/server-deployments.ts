import { join } from 'node:path';

import { MongoClient } from 'mongodb';
import type { Db, Document } from 'mongodb';
import { afterAll, beforeAll } from 'vitest';

import { ControlledMember } from '../../../lab/cluster/fault-member.js';
import { startFaultProxy } from '../../../lab/cluster/fault-proxy.js';
import { Ground } from '../../../lab/cluster/ground.js';
import { MongodProcess } from '../../../lab/cluster/mongod-process.js';
import { findBinary } from '../../../lab/mongo-server/find-binary.js';
import { eventually } from '../../../lab/patience.js';
import { freePort } from '../../../lab/ports.js';
import { whenTestEnds } from '../../support/current-test.js';
import type { Deployment } from './deployment.js';

const COUNT = 3;
const START_MS = 60_000;

/** Replica sets of one real member each, from the first test of the file to its last. */
export function serverDeployments(): readonly Deployment[] {
  const deployments: Deployment[] = [];
  let ground: Ground | undefined;
  beforeAll(async () => {
    ground = new Ground([]);
    const members = await layOut(ground);
    await Promise.all(members.map(initiate));
    deployments.push(...members.map((member) => new ServerDeployment(member)));
  });
  afterAll(async () => {
    await ground?.clear();
  });
  return deployments;
}

class ServerDeployment implements Deployment {
  readonly #member: ControlledMember;

  constructor(member: ControlledMember) {
    this.#member = member;
  }

  async kill(): Promise<void> {
    await this.#member.kill();
  }

  hang(): void {
    this.#member.stop();
  }

  delay(ms: number): void {
    this.#member.proxy.delay('clients', { latencyMs: ms });
  }

  async heal(): Promise<void> {
    this.#member.proxy.heal();
    this.#member.continue();
    await this.#member.restart();
    await untilWritable(this.#member);
  }

  db(name: string): Db {
    const { host, index } = this.#member;
    const uri = `mongodb://${host}/?replicaSet=${setName(index)}`;
    const client = new MongoClient(uri, { serverSelectionTimeoutMS: 60_000 });
    whenTestEnds(() => client.close());
    return client.db(name);
  }

  now(): Date {
    return new Date();
  }
}

const setName = (index: number): string => `store-${index}`;

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

const untilWritable = (member: ControlledMember): Promise<unknown> =>
  eventually(
    `deployment ${member.index} takes writes`,
    async () => {
      const hello = await member.admin({ hello: 1 }).catch((): Document => ({}));
      return hello['isWritablePrimary'] === true;
    },
    START_MS,
  );
