import { inspect } from 'node:util';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { LockProvider, StoreUnavailableError, UnsupportedServerError } from '../../../src/index.js';
import { QuorumError, QuorumLockProvider } from '../../../src/quorum/index.js';
import { outcomeOfError } from '../../../src/store/outcome.js';
import { startAuthorizingServer } from '../../../lab/mongo-server/authorizing-server.js';
import type { AuthorizingServer } from '../../../lab/mongo-server/authorizing-server.js';
import { OwnClient, randomName } from '../../support/test-provider.js';
import { rejection, within } from '../../../lab/patience.js';
import { failCommands, testProvider, useOwnServer } from '../../support/test-provider.js';

let server: AuthorizingServer;

beforeAll(async () => {
  server = await startAuthorizingServer();
});

afterAll(async () => {
  await server[Symbol.asyncDispose]();
});

/** A client of a user with only these privileges on the lock collection. */
async function clientAllowed(actions: readonly string[]): Promise<OwnClient> {
  const db = randomName('away');
  const privileges = [{ resource: { db, collection: 'distributed.locks' }, actions }];
  return new OwnClient(await server.uriOfUser(randomName('user'), privileges), db);
}

describe.concurrent('a user without a needed privilege', () => {
  it.for([
    ['acquire', (locks: LockProvider) => locks.acquireMutex('x', { timeoutMs: 5_000 })],
    ['untimed acquire', (locks: LockProvider) => locks.acquireMutex('x')],
    ['tryAcquire', (locks: LockProvider) => locks.tryAcquireMutex('x')],
    ['acquireAll', (locks: LockProvider) => locks.acquireAll([{ mutex: locks.createMutex('x') }])],
    ['resize', (locks: LockProvider) => locks.createSemaphore('s', 1).resize(2)],
  ] as const)('gets an error from %s that names privileges, collection and page', async ([, call]) => {
    await using client = await clientAllowed(['find']);
    const error = await rejection(call(client.provider({ createIndexes: false })));
    expect(error).toBeInstanceOf(StoreUnavailableError);
    expect(error).toMatchObject({ outcomeKnown: true, cause: { code: 13, codeName: 'Unauthorized' } });
    expect((error as Error).message).toContain(
      `needs find, insert and update on ${client.db.databaseName}.distributed.locks; see https://`,
    );
    expect((error as Error).message).toContain('/docs/operations.md#privileges');
    const printed = inspect(error);
    expect(printed).not.toContain('findAndModify');
    expect(printed.length).toBeLessThan(6_000);
  });

  it.for([
    ['untimed acquire', {}],
    ['timed acquire', { timeoutMs: 60_000 }],
    ['tryAcquire', { timeoutMs: 0 }],
  ] as const)('gets an error at once from %s if most stores of a quorum refuse it', async ([, request]) => {
    await using one = await clientAllowed(['find']);
    await using other = await clientAllowed(['find', 'insert', 'update']);
    await using third = await clientAllowed(['find']);
    const dbs = [one, other, third].map(({ db }) => db);
    await using locks = new QuorumLockProvider(dbs, { createIndexes: false });
    const error = await rejection(within(30_000, 'the refusal', locks.createMutex('x').acquire(request)));
    expect(error).toBeInstanceOf(QuorumError);
    expect((error as Error).message).toMatch(
      /store 0 \(has answered before\): not authorized: needs .*; store 2 \(has answered before\): not authorized/,
    );
  });

  it('gets an error from ensureIndexes that names the privilege for indexes', async () => {
    await using client = await clientAllowed(['find', 'insert', 'update']);
    const error = await rejection(client.provider().ensureIndexes());
    expect(error).toMatchObject({ code: 'STORE_UNAVAILABLE', cause: { code: 13 } });
    expect((error as Error).message).toContain('needs createIndex on ');
  });

  it('gets an error that names the privileges for a change stream, if wakeups demands one', async () => {
    await using client = await clientAllowed(['find', 'insert', 'update']);
    const locks = client.provider({ wakeups: 'change-stream', createIndexes: false });
    const hold = await locks.acquireMutex('x');
    const error = await rejection(locks.acquireMutex('x', { timeoutMs: 20_000 }));
    expect(error).toBeInstanceOf(UnsupportedServerError);
    expect((error as Error).message).toContain('needs changeStream and find on ');
    expect(inspect(error)).not.toContain('pipeline');
    await hold.release();
  });
});

describe('a request', () => {
  useOwnServer();

  it.for([
    [215, 'DatabaseDropPending'],
    [117, 'ConflictingOperationInProgress'],
    [261, 'TooManyLogicalSessions'],
    [94, 'NotYetInitialized'],
    [246, 'SnapshotUnavailable'],
  ] as const)('is repeated after error %i (%s)', async ([errorCode]) => {
    const provider = await testProvider();
    const requests = { failCommands: ['findAndModify'], errorCode };
    await failCommands(provider, { times: 2 }, requests);
    const hold = await provider.locks.acquireMutex('a', { timeoutMs: 30_000 });
    expect(await hold.release()).toBe(true);
  });

  it('is repeated after error 249, which says that a router was out of date', () => {
    const error = Object.assign(new Error('stale'), { name: 'MongoServerError', code: 249 });
    expect(outcomeOfError(error)).toMatchObject({ type: 'unknown', maybeApplied: false });
  });

  it('is not repeated after error 232, which says that a pipeline is nested too deeply', () => {
    const error = Object.assign(new Error('too deep'), { name: 'MongoServerError', code: 232 });
    expect(outcomeOfError(error)).toMatchObject({ type: 'refused', byServer: true });
  });

  it.for([59, 115, 238])(
    'fails with UnsupportedServerError after error %i, which says that a command or option is unknown',
    async (errorCode) => {
      const provider = await testProvider();
      await failCommands(provider, 'alwaysOn', { failCommands: ['findAndModify'], errorCode });
      for (const call of [provider.locks.acquireMutex('a'), provider.locks.tryAcquireMutex('a')]) {
        const error = await rejection(call);
        expect(error).toBeInstanceOf(UnsupportedServerError);
        expect((error as Error).message).toMatch(/^The server lacks what locks need: /);
        expect(error).toMatchObject({ cause: { code: errorCode } });
      }
    },
  );
});
