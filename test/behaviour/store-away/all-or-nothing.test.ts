import type { Document, RunCommandOptions } from 'mongodb';
import { describe, expect, inject, it } from 'vitest';

import { AcquireTimeoutError, LockProvider } from '../../../src/index.js';
import type { AcquireOptions } from '../../../src/index.js';
import { keepHold } from '../../support/keep-hold.js';
import { OwnClient, OwnDatabase } from '../../support/test-provider.js';
import { eventually, later, pause, rejection, within } from '../../../lab/patience.js';
import { Door } from './door.js';

/** How late a call may be on a busy machine. A call that waited for its releases would be a minute late. */
const PROMPTLY_MS = 20_000;

/** Holds the first of two locks and waits for the second. Then the store stops answering, and `run` ends the wait. */
async function whileSilent(
  options: AcquireOptions,
  run: (taking: Promise<unknown>) => Promise<void>,
): Promise<void> {
  await using door = await (await Door.to(inject('mongoUri'))).open();
  await using database = new OwnDatabase();
  await using own = new OwnClient(door.uri, database.name);
  const other = database.plain.provider();
  const here = own.provider({ createIndexes: false, storeTimeoutMs: 60_000 });
  await keepHold(other.acquireMutex('b'));
  const requests = ['a', 'b'].map((name) => ({ mutex: here.createMutex(name) }));
  const waitsFor: string[] = [];
  here.on('waiting', ({ lockName }) => waitsFor.push(lockName));
  const taking = later(here.acquireAll(requests, options));
  // The process has the answer: its place is not only stored on the server.
  await eventually('it waits for the second', () => waitsFor.includes('b'));
  door.stick();
  try {
    await run(taking);
  } finally {
    door.unstick();
  }
  await eventually('everything is given back', async () => {
    const [a, b] = await Promise.all([other.inspect('a'), other.inspect('b')]);
    return a?.holders.length === 0 && b?.waiters.length === 0;
  });
}

describe.concurrent('acquireAll, after the store has stopped answering,', () => {
  it('ends promptly when the caller aborts, and releases its locks when the store is back', async () => {
    const controller = new AbortController();
    await whileSilent({ signal: controller.signal }, async (taking) => {
      const startedMs = performance.now();
      controller.abort(new Error('given up'));
      expect(await rejection(within(60_000, 'the abort', taking))).toBe(controller.signal.reason);
      expect(performance.now() - startedMs).toBeLessThan(PROMPTLY_MS);
    });
  });

  it('times out about on time, with an error that says that the store stopped answering', async () => {
    const timeoutMs = 8_000;
    const startedMs = performance.now();
    await whileSilent({ timeoutMs }, async (taking) => {
      const error = await rejection(within(60_000, 'the timeout', taking));
      expect(performance.now() - startedMs).toBeLessThan(timeoutMs + PROMPTLY_MS);
      expect(error).toBeInstanceOf(AcquireTimeoutError);
      expect(error).toMatchObject({ lockName: 'b', place: 0 });
      expect((error as Error).message).toMatch(/the store stopped answering: no answer within 1000 ms/);
    });
  });
});

describe('a try of several locks on a slow store', () => {
  it('releases the locks that it took before it returns null', async () => {
    await using database = new OwnDatabase();
    const other = database.plain.provider({ createIndexes: false });
    const { db } = database.client();
    const here = new LockProvider(db, { createIndexes: false });
    await keepHold(other.acquireMutex('c'));
    const command = db.command.bind(db);
    db.command = async (sent: Document, options?: RunCommandOptions) => {
      if ('findAndModify' in sent) await pause(400);
      return await command(sent, options);
    };
    const requests = ['a', 'b', 'c'].map((name) => ({ mutex: here.createMutex(name) }));
    expect(await here.tryAcquireAll(requests)).toBeNull();
    const snapshots = await Promise.all(['a', 'b'].map((name) => other.inspect(name)));
    expect(snapshots.flatMap((snapshot) => snapshot?.holders ?? [])).toEqual([]);
    await here.close();
  });
});
