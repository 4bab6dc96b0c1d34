import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { startAuthorizingServer } from '../../../lab/mongo-server/authorizing-server.js';
import type { AuthorizingServer } from '../../../lab/mongo-server/authorizing-server.js';
import { OwnClient, randomName } from '../../support/test-provider.js';
import { eventually, rejection } from '../../../lab/patience.js';
import { EXTENDED_OFTEN, expectUsualBehaviour } from './usual-behaviour.js';
import { untilWaiting } from '../../support/waiters.js';

const COLLECTION = 'distributed.locks';

/** The least privileges that locks need. */
const LEAST = ['find', 'insert', 'update'] as const;

let server: AuthorizingServer;

beforeAll(async () => {
  server = await startAuthorizingServer();
});

afterAll(async () => {
  await server[Symbol.asyncDispose]();
});

async function connectAs(actions: readonly string[], count: number): Promise<readonly OwnClient[]> {
  const db = randomName('leasehold-test');
  const privileges = [{ resource: { db, collection: COLLECTION }, actions }];
  const uri = await server.uriOfUser(randomName('user'), privileges);
  return Array.from({ length: count }, () => new OwnClient(uri, db));
}

describe.concurrent('a client', () => {
  it('meets no error if it may also open change streams and create indexes', async () => {
    const [here, there] = await connectAs([...LEAST, 'changeStream', 'createIndex'], 2);
    await using first = here;
    await using second = there;
    if (first === undefined || second === undefined) throw new Error('there are two');
    const { storeErrors } = await expectUsualBehaviour(
      first.provider(EXTENDED_OFTEN),
      second.provider(EXTENDED_OFTEN),
      'change-stream',
    );
    expect(storeErrors).toEqual([]);
  });

  it('polls if it may only find, insert and update, and an event says why', async () => {
    const [here, there] = await connectAs(LEAST, 2);
    await using first = here;
    await using second = there;
    if (first === undefined || second === undefined) throw new Error('there are two');
    const { wakeups, indexErrors } = await expectUsualBehaviour(
      first.provider(EXTENDED_OFTEN),
      second.provider(EXTENDED_OFTEN),
      'polling',
    );
    expect(wakeups[0]?.why).toMatch(/not authorized/);
    // Only the creation of the index fails.
    const error = await eventually('the event', () => indexErrors[0]);
    expect((error as Error).message).toMatch(/not authorized/);
  });

  it('is refused if it demands a change stream that it may not open, but only when it waits', async () => {
    const [only] = await connectAs(LEAST, 1);
    await using client = only;
    if (client === undefined) throw new Error('there is one');
    const locks = client.provider({ wakeups: 'change-stream', createIndexes: false });
    const hold = await locks.acquireMutex('x');
    expect(await locks.tryAcquireMutex('x')).toBeNull();
    const error = await rejection(locks.acquireMutex('x', { timeoutMs: 20_000 }));
    expect(error).toMatchObject({ code: 'UNSUPPORTED_SERVER' });
    expect((error as Error).message).toMatch(/change stream/);
    expect(String((error as Error).cause)).toMatch(/not authorized/);
    await untilWaiting(locks, 'x', 0);
    expect(await hold.release()).toBe(true);
  });

  it('is refused at once if it may not write, with a typed error that names the cause', async () => {
    const [only] = await connectAs(['find'], 1);
    await using client = only;
    if (client === undefined) throw new Error('there is one');
    const locks = client.provider();
    for (const attempt of [locks.acquireMutex('x'), locks.tryAcquireMutex('x')]) {
      const error = await rejection(attempt);
      expect(error).toMatchObject({ code: 'STORE_UNAVAILABLE', outcomeKnown: true, lockName: 'x' });
      expect((error as Error).message).toMatch(/not authorized/);
    }
  });
});
