import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { LeaseholdError } from '../../../src/index.js';
import { startStandalone } from '../../../lab/mongo-server/start.js';
import type { MongoServer } from '../../../lab/mongo-server/start.js';
import { OwnDatabase } from '../../support/test-provider.js';
import { later, rejection, within } from '../../../lab/patience.js';
import { EXTENDED_OFTEN, expectOwnConcerns, expectUsualBehaviour } from './usual-behaviour.js';
import { untilWaiting } from '../../support/waiters.js';

let server: MongoServer;

beforeAll(async () => {
  server = await startStandalone();
});

afterAll(async () => {
  await server.stop();
});

describe.concurrent('on a standalone server, which has no change streams', () => {
  it('locks behave as usual by polling, and an event says why', async () => {
    await using database = new OwnDatabase(server.uri);
    const [here, there] = [database.client(), database.client()];
    const { wakeups, storeErrors } = await expectUsualBehaviour(
      here.provider(EXTENDED_OFTEN),
      there.provider(EXTENDED_OFTEN),
      'polling',
    );
    expect(wakeups[0]?.why).toMatch(/standalone/);
    expect(storeErrors).toEqual([]);
    const commands = [...here.commands, ...there.commands];
    expectOwnConcerns(commands);
    expect(commands.map(({ commandName }) => commandName)).not.toContain('aggregate');
  });

  it('twenty waiters are served in their order', async () => {
    await using database = new OwnDatabase(server.uri);
    const [here, there] = [database.client().provider(), database.client().provider()];
    const hold = await here.acquireMutex('x');
    const served: number[] = [];
    const waits: Promise<unknown>[] = [];
    for (let index = 0; index < 20; index += 1) {
      const locks = index % 2 === 0 ? here : there;
      waits.push(later(locks.useMutex('x', () => served.push(index))));
      await untilWaiting(here, 'x', index + 1);
    }
    await hold.release();
    await within(20_000, 'all waiters are served', Promise.all(waits));
    expect(served).toEqual(Array.from({ length: 20 }, (_, index) => index));
  });

  it('a wait that demands a change stream fails with a typed error, and leaves no waiter behind', async () => {
    await using database = new OwnDatabase(server.uri);
    const locks = database.client().provider({ wakeups: 'change-stream', createIndexes: false });
    const hold = await locks.acquireMutex('x');
    expect(await locks.tryAcquireMutex('x')).toBeNull();
    // Every time, not only the first.
    for (let attempt = 0; attempt < 2; attempt += 1) {
      const error = await rejection(within(10_000, 'the refusal', locks.acquireMutex('x')));
      expect(error).toBeInstanceOf(LeaseholdError);
      expect(error).toMatchObject({ code: 'UNSUPPORTED_SERVER' });
      expect((error as Error).message).toMatch(/change stream/);
      expect(String((error as Error).cause)).toMatch(/standalone/);
    }
    await untilWaiting(locks, 'x', 0);
    expect(await hold.release()).toBe(true);
    expect(await locks.tryAcquireMutex('x')).not.toBeNull();
  });
});
