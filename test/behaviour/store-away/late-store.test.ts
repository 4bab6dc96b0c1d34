import { once } from 'node:events';

import { MongoClient } from 'mongodb';
import { describe, expect, inject, it } from 'vitest';

import { LockProvider, StoreUnavailableError } from '../../../src/index.js';
import { OwnClient, randomName } from '../../support/test-provider.js';
import { eventually, later, rejection, within } from '../../../lab/patience.js';
import { Door } from './door.js';

/** Counts the `storeError` events from now on. */
const countErrors = (locks: LockProvider): (() => number) => {
  let errors = 0;
  locks.on('storeError', () => (errors += 1));
  return () => errors;
};

describe.concurrent('a client that could not connect yet', () => {
  it.for([
    ['gives up soon', 300],
    ['gives up late', 30_000],
  ] as const)(
    'is not treated as closed, and gets its locks when the store comes, if the driver %s',
    async ([, giveUpMs]) => {
      await using door = await Door.to(inject('mongoUri'));
      await using own = new OwnClient(door.uri, randomName('away'), { serverSelectionTimeoutMS: giveUpMs });
      const locks = own.provider({ storeTimeoutMs: 700 });
      const errors = countErrors(locks);
      const waits = ['a', 'b'].map((name) => later(locks.acquireMutex(name, { timeoutMs: 50_000 })));
      await eventually('several commands have failed', () => errors() > 5);
      await door.open();
      const holds = await within(20_000, 'the grants', Promise.all(waits));
      expect(holds.map(({ isHeld }) => isHeld)).toEqual([true, true]);
      expect(await Promise.all(holds.map((hold) => hold.release()))).toEqual([true, true]);
    },
  );

  it('gets its lock even after its own connect() has failed', async () => {
    await using door = await Door.to(inject('mongoUri'));
    await using own = new OwnClient(door.uri, randomName('away'), { serverSelectionTimeoutMS: 200 });
    await expect(own.client.connect()).rejects.toThrow(/ECONNREFUSED|Server selection timed out/);
    const locks = own.provider();
    await door.open();
    const hold = await within(20_000, 'the grant', locks.acquireMutex('a'));
    expect(await hold.release()).toBe(true);
  });
});

describe.concurrent('ensureIndexes without a reachable server', () => {
  it('rejects with outcomeKnown: true', async () => {
    await using door = await Door.to(inject('mongoUri'));
    await using own = new OwnClient(door.uri, randomName('away'), { serverSelectionTimeoutMS: 300 });
    const error = await rejection(within(20_000, 'the error', own.provider().ensureIndexes()));
    expect(error).toMatchObject({ code: 'STORE_UNAVAILABLE', outcomeKnown: true });
  });
});

describe.concurrent('a client that its owner has closed', () => {
  it.for(['before it ever connected', 'after it could not connect', 'while it could not connect'] as const)(
    'ends a request soon and is not opened again, if it was closed %s',
    async (when) => {
      await using door = await Door.to(inject('mongoUri'));
      const client = new MongoClient(door.uri, { serverSelectionTimeoutMS: 300 });
      await using locks = new LockProvider(client.db(randomName('away')));
      const errors = countErrors(locks);
      const wait = when === 'before it ever connected' ? undefined : later(locks.acquireMutex('a'));
      if (when === 'after it could not connect') await once(client, 'topologyClosed');
      if (when === 'while it could not connect') await eventually('it has tried twice', () => errors() > 2);
      await client.close();
      let opened = 0;
      client.on('topologyOpening', () => (opened += 1));
      const error = await rejection(within(10_000, 'the error', wait ?? locks.acquireMutex('a')));
      expect(error).toBeInstanceOf(StoreUnavailableError);
      expect((error as Error).message).toContain('the client is closed');
      await door.open();
      expect(await rejection(locks.tryAcquireMutex('a'))).toMatchObject({ code: 'STORE_UNAVAILABLE' });
      expect(opened).toBe(0);
    },
  );

  it.for(['auto', 'polling'] as const)('ends a queued request soon (wakeups: %s)', async (wakeups) => {
    await using door = await (await Door.to(inject('mongoUri'))).open();
    await using other = new OwnClient(inject('mongoUri'), randomName('away'));
    const hold = await other.provider().acquireMutex('a');
    const client = new MongoClient(door.uri);
    await using locks = new LockProvider(client.db(other.db.databaseName), { leaseMs: 600_000, wakeups });
    const wait = later(locks.acquireMutex('a'));
    await new Promise((resolve) => locks.once('waiting', resolve));
    await client.close();
    const error = await rejection(within(20_000, 'the error', wait));
    expect(error).toMatchObject({ code: 'STORE_UNAVAILABLE', lockName: 'a' });
    expect((error as Error).message).toContain('the client is closed');
    await hold.release();
    await other.db.dropDatabase();
  });
});
