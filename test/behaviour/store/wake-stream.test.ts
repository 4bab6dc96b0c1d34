import type { Document } from 'mongodb';
import { describe, expect, it } from 'vitest';
import { byBreadth } from '../../support/breadth.js';
import { killCursors } from '../../../lab/mongo-server/kill-cursors.js';
import { eventually } from '../../../lab/patience.js';
import { ownDatabase, twoProviders } from '../../support/test-provider.js';
import type { TestProvider } from '../../support/test-provider.js';
import { untilWaiting } from '../../support/waiters.js';

/** The server's cursors of this client's change stream. */
async function streams({ client, db, appName }: TestProvider): Promise<readonly Document[]> {
  const pipeline = [
    { $currentOp: { idleCursors: true, allUsers: true, idleConnections: true } },
    { $match: { appName, 'cursor.originatingCommand.aggregate': { $exists: true } } },
    { $match: { ns: `${db.databaseName}.distributed.locks` } },
  ];
  return await client.db('admin').aggregate(pipeline).toArray();
}

async function killStreams(provider: TestProvider): Promise<number> {
  const ids = (await streams(provider)).map(({ cursor }) => (cursor as Document)['cursorId'] as unknown);
  await killCursors(provider.db, 'distributed.locks', ids);
  return ids.length;
}

describe.concurrent('the wake stream', () => {
  it('opens at the first wait, once per provider, and closes after wakeIdleMs without a wait', async () => {
    const [one, other] = await twoProviders({ wakeIdleMs: 300 });
    const lock = await one.locks.acquireMutex('a');
    const second = await other.locks.acquireMutex('b');
    let killed = 0;
    other.client.on('commandStarted', ({ commandName }) => {
      if (commandName === 'killCursors') killed += 1;
    });
    expect(await streams(one)).toEqual([]);
    expect(await streams(other)).toEqual([]);
    const waits = [other.locks.acquireMutex('a'), other.locks.acquireMutex('a')];
    const third = one.locks.acquireMutex('b');
    await eventually('the stream of one provider is open', async () => (await streams(other)).length === 1);
    await eventually(
      'the stream of the other provider is open',
      async () => (await streams(one)).length === 1,
    );
    await Promise.all([lock.release(), second.release()]);
    for (const wait of waits) {
      const next = await Promise.race([...waits, wait]);
      await next.release();
    }
    await (await third).release();
    await eventually('the stream of one provider is closed', async () => (await streams(other)).length === 0);
    await eventually(
      'the stream of the other provider is closed',
      async () => (await streams(one)).length === 0,
    );
    // The server no longer lists a cursor whose session has ended, but it may still have the cursor.
    await eventually('the end of the cursor on the server', () => killed > 0);
  });

  it('loses no wake-up though its cursor is killed again and again (L2)', async () => {
    const [one, other] = await twoProviders({ leaseMs: 60_000 });
    let kills = 0;
    for (let round = 0; kills < byBreadth(15, 100); round += 1) {
      const lock = await one.locks.acquireMutex('a');
      const waiting = other.locks.acquireMutex('a', { timeoutMs: 15_000 });
      if (round === 0) await eventually('the stream', async () => (await streams(other)).length === 1);
      else await untilWaiting(other.locks, 'a');
      const [killed] = await Promise.all([killStreams(other), lock.release()]);
      kills += killed;
      // Its place lasts a minute, so only the wake-up, or the look after the reopening, can deliver the grant.
      const next = await waiting;
      expect(await next.release()).toBe(true);
      await eventually('the old cursors are gone', async () => (await streams(other)).length <= 1);
    }
    await other.locks.close();
    await eventually('no cursor is left', async () => (await streams(other)).length === 0);
  });

  it('reports a drop of the collection: the waiter queues again, and the holder loses its hold', async () => {
    const [one, other] = await twoProviders({ leaseMs: 60_000 });
    const lock = await one.locks.acquireMutex('a');
    const waiting = other.locks.acquireMutex('a');
    const mine = await other.locks.acquireMutex('b');
    await eventually('the stream', async () => (await streams(other)).length === 1);
    await untilWaiting(other.locks, 'a');
    await one.db.collection('distributed.locks').drop();
    const next = await waiting;
    expect(next.fencingToken).toBeGreaterThan(lock.fencingToken);
    await eventually('the loss', () => mine.signal.aborted);
    expect(mine.signal.reason).toMatchObject({ why: 'document-missing' });
  });

  it('survives the drop of the collection', async () => {
    const [one, other] = await twoProviders({ leaseMs: 60_000 });
    const lock = await one.locks.acquireMutex('a');
    const waiting = other.locks.acquireMutex('a');
    await eventually('the stream', async () => (await streams(other)).length === 1);
    await one.db.collection('distributed.locks').drop();
    const next = await waiting;
    expect(next.fencingToken).toBeGreaterThan(lock.fencingToken);
    const after = one.locks.acquireMutex('a', { timeoutMs: 20_000 });
    await untilWaiting(one.locks, 'a');
    await next.release();
    expect((await after).isHeld).toBe(true);
  });

  it('reports once how waiters are woken', async () => {
    const [one, other] = await twoProviders();
    const modes: string[] = [];
    other.locks.on('wakeups', ({ mode }) => modes.push(mode));
    const lock = await one.locks.acquireMutex('a');
    const waiting = other.locks.acquireMutex('a');
    await eventually('the announcement', () => modes.length === 1);
    await lock.release();
    await (await waiting).release();
    expect(modes).toEqual(['change-stream']);
  });
});

describe.concurrent('polling', () => {
  it('opens no stream, and reads with read concern majority', async () => {
    const database = ownDatabase();
    const one = await database.connected({ wakeups: 'polling', leaseMs: 60_000 });
    const other = await database.connected({ wakeups: 'polling', leaseMs: 60_000 });
    const lock = await one.locks.acquireMutex('a');
    const waiting = other.locks.acquireMutex('a');
    const reads = () => other.commands.filter(({ commandName }) => commandName === 'find');
    await eventually('polls', () => reads().length >= 2);
    expect(await streams(other)).toEqual([]);
    for (const { command } of reads()) expect(command['readConcern']).toEqual({ level: 'majority' });
    await lock.release();
    expect((await waiting).isHeld).toBe(true);
  });
});
