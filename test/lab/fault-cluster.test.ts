import { existsSync } from 'node:fs';
import { appendFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { MongoClient, MongoWriteConcernError } from 'mongodb';
import type { Document } from 'mongodb';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';

import { eventually } from '../../lab/patience.js';
import { smallDisk } from '../../lab/cluster/disk.js';
import { findFakeTime } from '../../lab/cluster/fake-time.js';
import { ELECTION_TIMEOUT_MS } from '../../lab/cluster/fault-cluster.js';
import type { FaultCluster } from '../../lab/cluster/fault-cluster.js';
import type { FaultMember } from '../../lab/cluster/fault-member.js';
import { slowDisks, slowDisksRefusal } from '../../lab/cluster/slow-disk.js';
import { useFaultCluster } from '../support/fault-cluster.js';

const DELAY_MS = 400;

const started = useFaultCluster({ withClocks: true });
let cluster: FaultCluster;
let client: MongoClient;
let noted = 0;

beforeAll(() => {
  cluster = started();
  client = new MongoClient(cluster.uri, { w: 'majority' });
});

afterEach(async () => {
  await cluster.heal();
});

afterAll(async () => {
  await client.close();
});

/**
 * Writes through the proxies until a majority has acknowledged it, which only a healthy set does. The write is repeated,
 * because a driver that has not heard of an election asks the old primary, and repeats that only once.
 */
async function note(): Promise<void> {
  noted += 1;
  const notes = client.db('leasehold-cluster').collection<{ _id: number }>('notes');
  await eventually('a majority has it', () =>
    notes.updateOne({ _id: noted }, { $set: { at: 1 } }, { upsert: true }).then(
      () => true,
      () => false,
    ),
  );
}

async function untilSecondaries(): Promise<readonly [FaultMember, FaultMember]> {
  return await eventually('there are two secondaries', async () => {
    const [one, other] = await cluster.secondaries();
    return one !== undefined && other !== undefined ? ([one, other] as const) : undefined;
  });
}

async function untilAnother(than: FaultMember): Promise<FaultMember> {
  return await eventually('another member is primary', async () => {
    const primary = await cluster.primary();
    return primary === than ? undefined : primary;
  });
}

describe('a cluster for faults', () => {
  it('has one primary and two secondaries, which reach each other through the proxies', async () => {
    const primary = await cluster.untilPrimary();
    const [one, other] = await untilSecondaries();
    expect(new Set([primary, one, other])).toEqual(new Set(cluster.members));
    await note();
    const { hosts, me } = await primary.admin({ hello: 1 });
    expect(hosts).toEqual(cluster.members.map(({ host }) => host));
    expect(me).toBe(primary.host);
    for (const { proxy } of cluster.members)
      await eventually('other members reach it', () => proxy.connections.members > 0);
    await eventually('the client reaches it', () => primary.proxy.connections.clients > 0);
  });

  it('elects another primary when the first is killed, and takes the killed member back', async () => {
    const first = await cluster.untilPrimary();
    const [term, pid] = [await cluster.term(), first.pid];
    await first.kill();
    expect(first.isRunning).toBe(false);
    const second = await untilAnother(first);
    expect(await cluster.term()).toBeGreaterThan(term);
    expect(await cluster.secondaries()).not.toContain(first);
    await note();
    await expect(first.admin({ ping: 1 })).rejects.toThrow('does not run');
    await first.restart();
    expect(first.isRunning).toBe(true);
    expect(first.pid).not.toBe(pid);
    await cluster.heal();
    expect(new Set([await cluster.untilPrimary(), ...(await untilSecondaries())])).toEqual(
      new Set(cluster.members),
    );
    expect(second.isRunning).toBe(true);
  });

  it('elects another primary while the first is paused', async () => {
    const first = await cluster.untilPrimary();
    first.stop();
    expect(first).toMatchObject({ isRunning: true, isStopped: true });
    await expect(first.admin({ ping: 1 }, 300)).rejects.toThrow();
    await untilAnother(first);
    await note();
    first.continue();
    expect(first.isStopped).toBe(false);
    await cluster.heal();
    expect(await first.admin({ ping: 1 })).toMatchObject({ ok: 1 });
  });

  it('elects another primary when the first steps down, and a secondary has nothing to step down from', async () => {
    const first = await cluster.untilPrimary();
    await first.stepDown();
    await untilAnother(first);
    await first.stepDown();
    await note();
  });

  it('has no primary without a majority, and heals from all faults at once', async () => {
    const primary = await cluster.untilPrimary();
    const [one, other] = await untilSecondaries();
    await one.kill();
    other.stop();
    await eventually('there is no primary', async () => (await cluster.primary()) === undefined);
    primary.proxy.freeze('all');
    await cluster.heal();
    await note();
    expect(cluster.members.every(({ isRunning, isStopped }) => isRunning && !isStopped)).toBe(true);
  });

  it('elects another primary when members cannot reach the first through its proxy', async () => {
    const first = await cluster.untilPrimary();
    first.proxy.cut('members');
    await untilAnother(first);
    await note();
  });

  it('takes back a member that has ended by itself', async () => {
    const first = await cluster.untilPrimary();
    process.kill(first.pid, 'SIGABRT');
    await eventually('it has ended', () => !first.isRunning);
    await cluster.heal();
    expect(first.isRunning).toBe(true);
    await note();
  });
});

describe('an isolated member', () => {
  /** How long a primary serves, and the others wait, without news from each other. */
  async function setElectionTimeout(ms: number): Promise<void> {
    const primary = await cluster.untilPrimary();
    const { config } = (await primary.admin({ replSetGetConfig: 1 })) as { config: Document };
    const version = Number(config['version']) + 1;
    const settings = {
      ...(config['settings'] as Document),
      ...{ electionTimeoutMillis: ms, heartbeatTimeoutSecs: ms / 1_000 },
    };
    await primary.admin({ replSetReconfig: { ...config, version, settings } });
    for (const member of cluster.members) {
      await eventually('the member has heard of it', async () => {
        const { setVersion } = await member.admin({ hello: 1 });
        return setVersion === version;
      });
    }
  }

  const isPrimary = async (member: FaultMember): Promise<boolean> =>
    (await member.admin({ hello: 1 }))['isWritablePrimary'] === true;

  /** How this member answers a majority write of a client that reaches it through its proxy. */
  async function acknowledgement(member: FaultMember): Promise<string> {
    const direct = new MongoClient(`mongodb://${member.host}/?directConnection=true`, { retryWrites: false });
    try {
      const stray = direct.db('leasehold-cluster').collection('strays');
      await stray.insertOne({}, { writeConcern: { w: 'majority', wtimeoutMS: 600 } });
      return 'acknowledged';
    } catch (error) {
      return error instanceof MongoWriteConcernError ? 'not acknowledged' : `refused: ${String(error)}`;
    } finally {
      await direct.close();
    }
  }

  it('remains a primary beside another one for a while if only silence tells it that it is isolated', async () => {
    const first = await cluster.untilPrimary();
    const [second] = await untilSecondaries();
    // The first one must not step down before this test has looked.
    await setElectionTimeout(20_000);
    try {
      cluster.isolate(first, 'silence');
      expect(await second.stepUp()).toBe(true);
      await eventually('the other one takes writes', () => isPrimary(second));
      expect(await isPrimary(first)).toBe(true);
      expect(await acknowledgement(first)).toBe('not acknowledged');
      await eventually('the third one follows the second', async () => (await cluster.primary()) === second);
      await note();
      await eventually('the first steps down', async () => !(await isPrimary(first)));
    } finally {
      await cluster.heal();
      await setElectionTimeout(ELECTION_TIMEOUT_MS);
    }
    const strays = client.db('leasehold-cluster').collection('strays');
    expect(await strays.countDocuments({}, { readPreference: 'primary' })).toBe(0);
    expect(await first.admin({ replSetGetStatus: 1 })).toMatchObject({ myState: 2 });
  });

  it('is replaced by another primary without further help', async () => {
    const first = await cluster.untilPrimary();
    cluster.isolate(first);
    await untilAnother(first);
    await note();
    // Connections come and go: a driver may be about to open one, and a connection of a member lasts until the proxy has
    // recognized it.
    for (const { proxy } of cluster.members) {
      if (proxy === first.proxy) continue;
      await eventually('clients reach the others', () => proxy.connections.clients > 0);
    }
    await eventually('no other member reaches it', () => first.proxy.connections.members === 0);
  });
});

describe('the disk of a member', () => {
  it('delays every durable write by this much until the fault ends', async ({ skip }) => {
    const refusal = slowDisksRefusal();
    if (refusal !== undefined) {
      console.log(`leasehold: no disk is made slow, ${refusal}`);
      skip();
    }
    const tookMs = async (): Promise<number> => {
      const startMs = performance.now();
      await note();
      return performance.now() - startMs;
    };
    const slow = await slowDisks(
      cluster.members.map(({ pid }) => pid),
      DELAY_MS,
    );
    try {
      expect(await tookMs()).toBeGreaterThan(DELAY_MS);
    } finally {
      await slow.end();
    }
    await eventually('writes are quick again', async () => (await tookMs()) < DELAY_MS);
  });

  it('can be filled, and can get room again', async ({ skip }) => {
    await using disk = await smallDisk(3);
    if (disk === undefined) {
      console.log('leasehold: mounting is not permitted here, so no disk is full');
      return skip();
    }
    const write = () => writeFile(join(disk.folder, 'some'), Buffer.alloc(1 << 20));
    await write();
    await disk.fill();
    await expect(appendFile(join(disk.folder, 'some'), Buffer.alloc(1 << 20))).rejects.toThrow('ENOSPC');
    await disk.free();
    await write();
    await disk[Symbol.asyncDispose]();
    expect(existsSync(disk.folder)).toBe(false);
  });
});

describe('the clock of a member', () => {
  const serverNow = async (member: FaultMember): Promise<number> => {
    const stages = [{ $documents: [{}] }, { $project: { now: '$$NOW' } }];
    const answer = await member.admin({ aggregate: 1, pipeline: stages, cursor: {} });
    const { firstBatch } = answer['cursor'] as { readonly firstBatch: readonly [{ readonly now: Date }] };
    return firstBatch[0].now.getTime();
  };

  /** By how much its clock is ahead, to within 50 ms, because only a quick answer counts. */
  const aheadMs = async (member: FaultMember): Promise<number> => {
    const { nowMs, beforeMs, afterMs } = await eventually('a quick answer', async () => {
      const startedMs = Date.now();
      const answer = { nowMs: await serverNow(member), beforeMs: startedMs, afterMs: Date.now() };
      return answer.afterMs - answer.beforeMs <= 100 ? answer : undefined;
    });
    return nowMs - (beforeMs + afterMs) / 2;
  };

  const aheadSeconds = async (member: FaultMember): Promise<number> =>
    Math.round((await aheadMs(member)) / 1_000) + 0;

  it('can be moved forward and back while the member runs, and replication goes on', async ({ skip }) => {
    if ((await findFakeTime()) === undefined) {
      console.log('leasehold: no libfaketime here, so no clock of a member is set');
      skip();
    }
    expect(cluster.canSetClocks).toBe(true);
    const primary = await cluster.untilPrimary();
    const others = cluster.members.filter((member) => member !== primary);
    await primary.setClock('+30s');
    expect(await aheadSeconds(primary)).toBe(30);
    for (const member of others) expect(await aheadSeconds(member)).toBe(0);
    await note();
    await primary.setClock('-10s');
    expect(await aheadSeconds(primary)).toBe(-10);
    await note();
    await primary.setClock('+0 x1.1');
    await primary.setClock('+0');
    const before = await aheadMs(primary);
    const sinceMs = performance.now();
    await note();
    await eventually('three seconds have passed', () => performance.now() - sinceMs >= 3_000);
    // At the earlier rate, the clock would be ahead by a tenth of that.
    expect(Math.abs((await aheadMs(primary)) - before)).toBeLessThan(200);
  });
});
