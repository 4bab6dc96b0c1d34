import { describe, expect, it } from 'vitest';

import { LockProvider } from '../../../src/index.js';
import { systemClock } from '../../../src/clock.js';
import type { LockHandle } from '../../../src/index.js';
import { StoreCalls } from '../../../src/store/store-calls.js';
import { whenTestEnds } from '../../support/current-test.js';
import { eventually, later, pause, rejection, within } from '../../../lab/patience.js';
import { streams } from '../../support/open-streams.js';
import { failCommands, testProvider, useOwnServer } from '../../support/test-provider.js';
import type { TestProvider } from '../../support/test-provider.js';
import { untilWaiting } from '../../support/waiters.js';

useOwnServer();

/** Runs slow queries of the user, each of which takes a connection for `blockTimeMS`, until the result is called. */
async function slowQueries(
  user: TestProvider,
  blockTimeMS: number,
  sideBySide: number,
): Promise<() => Promise<void>> {
  const data = { failCommands: ['count'], blockConnection: true, blockTimeMS };
  const heal = await failCommands(user, 'alwaysOn', data);
  let goesOn = true;
  const lanes = Array.from({ length: sideBySide }, async () => {
    while (goesOn) {
      await user.db.command({ count: 'others' }).catch(() => undefined);
      await pause(0);
    }
  });
  const stop = (): void => {
    goesOn = false;
  };
  whenTestEnds(stop);
  return async (): Promise<void> => {
    stop();
    await heal();
    await Promise.all(lanes);
  };
}

interface Events {
  readonly names: string[];
  readonly errors: string[];
}

function eventsOf(locks: LockProvider): Events {
  const names: string[] = [];
  const errors: string[] = [];
  locks.on('storeError', ({ error }) => {
    names.push('storeError');
    errors.push(String(error));
  });
  locks.on('lost', ({ why }) => names.push(`lost: ${why}`));
  locks.on('extended', () => names.push('extended'));
  return { names, errors };
}

/** Expects that a hold is lost only with an event, and after an error of the store. */
function expectNoSilentLoss(hold: LockHandle, { names }: Events): void {
  const isLost = names.some((name) => name.startsWith('lost'));
  expect(isLost).toBe(!hold.isHeld);
  expect(hold.signal.aborted).toBe(!hold.isHeld);
  if (isLost) expect(names.indexOf('storeError')).toBeGreaterThanOrEqual(0);
}

describe('a busy pool', () => {
  it('with one connection delays extensions, and no hold is lost', async () => {
    const user = await testProvider(
      { leaseMs: 30_000, extendEveryMs: 2_000, createIndexes: false },
      { maxPoolSize: 1 },
    );
    const events = eventsOf(user.locks);
    const hold = await user.locks.acquireMutex('a');
    const calm = await slowQueries(user, 700, 1);
    await eventually('extended twice', () => events.names.filter((name) => name === 'extended').length >= 2);
    expect(hold.isHeld).toBe(true);
    expect(await within(8_000, 'the release', hold.release())).toBe(true);
    await calm();
    expect(events.names.filter((name) => name.startsWith('lost'))).toEqual([]);
  });

  it('with one connection ends a hold at its deadline, after error events, if it is busy for longer than a lease', async () => {
    const user = await testProvider(
      { leaseMs: 2_000, storeTimeoutMs: 60_000, createIndexes: false },
      { maxPoolSize: 1 },
    );
    const events = eventsOf(user.locks);
    const hold = await user.locks.acquireMutex('a');
    const { signal } = hold;
    const startedMs = performance.now();
    const calm = await slowQueries(user, 20_000, 1);
    await eventually('its lease runs out', () => signal.aborted);
    expect(performance.now() - startedMs).toBeLessThan(15_000);
    expect(signal.reason).toMatchObject({ why: 'expired' });
    expectNoSilentLoss(hold, events);
    expect(events.names.indexOf('storeError')).toBeLessThan(events.names.indexOf('lost: expired'));
    expect(events.errors[0]).toMatch(/no answer within \d+ ms/);
    await calm();
    const next = await within(10_000, 'a fresh acquire', user.locks.acquireMutex('a'));
    expect(next.fencingToken).toBeGreaterThan(hold.fencingToken);
  });

  it('with two connections, of which the change stream uses one, lets waits, extensions and releases go on', async () => {
    const client = { maxPoolSize: 2 };
    const user = await testProvider({ leaseMs: 30_000, extendEveryMs: 2_000, createIndexes: false }, client);
    const other = await user.database.connected({ leaseMs: 60_000, createIndexes: false });
    const events = eventsOf(user.locks);
    const theirs = await other.locks.acquireMutex('b');
    const hold = await user.locks.acquireMutex('a');
    const wait = later(user.locks.acquireMutex('b'));
    await untilWaiting(other.locks, 'b');
    const calm = await slowQueries(user, 150, 6);
    await eventually('extended twice', () => events.names.filter((name) => name === 'extended').length >= 2);
    expectNoSilentLoss(hold, events);
    expect(hold.isHeld).toBe(true);
    await theirs.release();
    expect((await within(10_000, 'the hand-over', wait)).isHeld).toBe(true);
    await within(8_000, 'the release', hold.release());
    await calm();
  });

  it('with two connections keeps no cursor of a stream that is closed while the other connection is busy (R1)', async () => {
    const options = { leaseMs: 60_000, createIndexes: false, wakeIdleMs: 0 };
    const client = { maxPoolSize: 2 };
    const user = await testProvider(options, client);
    const other = await user.database.connected(options);
    const theirs = await other.locks.acquireMutex('a');
    const abort = new AbortController();
    const wait = later(user.locks.acquireMutex('a', { signal: abort.signal }));
    await eventually('its stream', async (see) => see(await streams(other)) === 1);
    // Longer than the server takes to answer a stream: its last answer comes before its cursor can be told to end.
    const calm = await slowQueries(user, 2_500, 2);
    abort.abort(new Error('enough'));
    expect(String(await rejection(wait))).toContain('enough');
    await calm();
    await eventually('no stream', async (see) => see(await streams(other)) === 0, 10_000);
    expect(await theirs.release()).toBe(true);
  });

  it('with a waitQueueTimeoutMS tells that a command without a connection was not sent', async () => {
    const user = await testProvider({ createIndexes: false }, { maxPoolSize: 1, waitQueueTimeoutMS: 1_000 });
    const calls = new StoreCalls(user.db, 'locks', systemClock, () => undefined, 5_000);
    whenTestEnds(() => {
      calls.close();
    });
    const calm = await slowQueries(user, 3_000, 1);
    await eventually('a slow query', () => user.commands.some(({ commandName }) => commandName === 'count'));
    const outcome = await calls.run('transition', 'c', () => ({ ping: 1 }), 10_000);
    expect(outcome).toMatchObject({ type: 'unknown', maybeApplied: false });
    expect(user.count('ping')).toBe(0);
    await calm();
  });

  it('with a waitQueueTimeoutMS makes the library repeat a command that gets no connection in time', async () => {
    const options = { leaseMs: 3_000, storeTimeoutMs: 1_000, createIndexes: false };
    const user = await testProvider(options, { maxPoolSize: 1, waitQueueTimeoutMS: 500 });
    const events = eventsOf(user.locks);
    const hold = await user.locks.acquireMutex('a');
    const calm = await slowQueries(user, 3_000, 1);
    await eventually('a slow query', () => user.commands.some(({ commandName }) => commandName === 'count'));
    const error = await rejection(within(5_000, 'an answer', user.locks.tryAcquireMutex('c')));
    // Its time may end while one more copy waits for a connection, so whether the outcome is known depends on the pauses.
    expect(error).toMatchObject({ code: 'STORE_UNAVAILABLE' });
    expect((error as Error).message).toMatch(/connection/);
    expect(user.commands.some(({ command }) => JSON.stringify(command).includes('"_id":"c"'))).toBe(false);
    await eventually('the end of the hold, or an extension', () =>
      events.names.some((name) => name !== 'storeError'),
    );
    expectNoSilentLoss(hold, events);
    expect(events.errors.join()).toMatch(/Timed out while checking out a connection/);
    await calm();
    const next = await within(10_000, 'a fresh acquire', user.locks.acquireMutex('d'));
    expect(await next.release()).toBe(true);
  });

  it('with two connections for two providers that wait lets neither stream starve the extensions of the other', async () => {
    const client = { maxPoolSize: 2 };
    const user = await testProvider({ leaseMs: 15_000, extendEveryMs: 1_000, createIndexes: false }, client);
    const second = new LockProvider(user.db, { leaseMs: 15_000, extendEveryMs: 1_000, createIndexes: false });
    const other = await user.database.connected({ leaseMs: 60_000, createIndexes: false });
    const events = [user.locks, second].map(eventsOf);
    const theirs = await other.locks.acquireMutex('b');
    const holds = [await user.locks.acquireMutex('a1'), await second.acquireMutex('a2')];
    const waits = [user.locks, second].map((locks) => later(locks.acquireMutex('b')));
    await eventually('both are extended twice', () =>
      events.every(({ names }) => names.filter((name) => name === 'extended').length >= 2),
    );
    expect(holds.every(({ isHeld }) => isHeld)).toBe(true);
    await theirs.release();
    const first = await within(10_000, 'a grant', Promise.race(waits));
    await first.release();
    await within(10_000, 'both grants', Promise.all(waits));
    await second.close({ drainMs: 0 });
  });
});
