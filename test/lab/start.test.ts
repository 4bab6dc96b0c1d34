import { MongoClient } from 'mongodb';
import { describe, expect, inject, it } from 'vitest';

import { isAlive } from '../../lab/processes/is-alive.js';
import { startReplicaSet, startStandalone } from '../../lab/mongo-server/start.js';

async function ask(uri: string, command: Record<string, unknown>): Promise<Record<string, unknown>> {
  const client = new MongoClient(uri);
  try {
    return await client.db('admin').command(command);
  } finally {
    await client.close();
  }
}

describe('the shared server', () => {
  it('runs for every test file', async () => {
    expect(await ask(inject('mongoUri'), { hello: 1 })).toMatchObject({ ok: 1 });
  });
});

describe('startReplicaSet', () => {
  it('starts a replica set of one member that accepts fail points, and leaves no process behind', async () => {
    const server = await startReplicaSet();
    const pids = server.members.map(({ pid }) => pid);
    try {
      const hello = await ask(server.uri, { hello: 1 });
      expect(hello).toMatchObject({ isWritablePrimary: true, setName: 'leasehold' });
      expect(pids).toHaveLength(1);
      expect(pids.every(isAlive)).toBe(true);
      expect(server.description).toMatch(
        /^mongod \d+\.\d+\.\d+ \(.+\), replica set of 1 on 127\.0\.0\.1:\d+$/,
      );
      const status = await ask(server.uri, { serverStatus: 1 });
      expect(status['storageEngine']).toMatchObject({ name: 'wiredTiger', persistent: true });
      expect(await ask(server.uri, { configureFailPoint: 'failCommand', mode: 'off' })).toMatchObject({
        ok: 1,
      });
    } finally {
      await server.stop();
    }
    expect(pids.some(isAlive)).toBe(false);
  });

  it('starts three members, and another one takes over when the primary is killed', async () => {
    await using server = await startReplicaSet({ members: 3 });
    const before = await ask(server.uri, { hello: 1 });
    expect(before['hosts']).toHaveLength(3);

    const primary = server.members.find(({ host, port }) => before['primary'] === `${host}:${port}`);
    if (primary === undefined) throw new Error('the primary is none of the members');
    process.kill(primary.pid, 'SIGKILL');
    const after = await ask(server.uri, { hello: 1 });
    expect(after['primary']).not.toBe(before['primary']);
  });

  it('stops members that are paused', async () => {
    const server = await startReplicaSet();
    const [member] = server.members;
    if (member === undefined) throw new Error('no member');
    process.kill(member.pid, 'SIGSTOP');
    await server.stop();
    expect(isAlive(member.pid)).toBe(false);
  });
});

describe('startStandalone', () => {
  it('starts a mongod without replication', async () => {
    await using server = await startStandalone({ testCommands: false });
    const hello = await ask(server.uri, { hello: 1 });
    expect(hello).toMatchObject({ isWritablePrimary: true });
    expect(hello).not.toHaveProperty('setName');
    await expect(ask(server.uri, { configureFailPoint: 'failCommand', mode: 'off' })).rejects.toThrow();
  });
});
