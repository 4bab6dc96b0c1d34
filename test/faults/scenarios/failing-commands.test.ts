import type { Document } from 'mongodb';
import { describe, expect, it } from 'vitest';

import type { LockProvider } from '../../../src/index.js';
import { eventually, later, rejection, within } from '../../../lab/patience.js';
import { failCommands, twoProviders, useOwnServer } from '../../support/test-provider.js';
import { untilWaiting } from '../../support/waiters.js';

// A server has one `failCommand` fail point, so the faults come one after the other.
useOwnServer();

interface Fault {
  readonly data: Document;
  /** Whether its error alone tells that the command was not applied. */
  readonly isKnown: boolean;
}

const code = (errorCode: number, isKnown = false): Fault => ({ data: { errorCode }, isKnown });

/** It is known that nothing was applied only if the server refuses a command before it begins. */
const FAULTS: Readonly<Record<string, Fault>> = {
  'InterruptedAtShutdown (11600)': code(11_600),
  'InterruptedDueToReplStateChange (11602)': code(11_602),
  'PrimarySteppedDown (189)': code(189),
  'ShutdownInProgress (91)': code(91),
  'NotWritablePrimary (10107)': code(10_107, true),
  'NotPrimaryNoSecondaryOk (13435)': code(13_435, true),
  'WriteConflict (112)': code(112, true),
  'MaxTimeMSExpired (50)': code(50),
  'ExceededTimeLimit (262)': code(262),
  'IngressRequestRateLimitExceeded (462)': code(462, true),
  'HostUnreachable (6)': code(6),
  'NetworkTimeout (89)': code(89),
  'SocketException (9001)': code(9_001),
  'WriteConcernFailed (64), after it was applied': {
    data: { writeConcernError: { code: 64, errmsg: 'waiting for replication timed out' } },
    isKnown: false,
  },
  'a closed connection': { data: { closeConnection: true }, isKnown: false },
  'no answer within storeTimeoutMs': {
    data: { blockConnection: true, blockTimeMS: 1_900 },
    isKnown: false,
  },
};

/** The bound of a call: shorter than the silence of the server. */
const STORE_TIMEOUT_MS = 1_500;

const OPTIONS = {
  leaseMs: 12_000,
  extendEveryMs: 150,
  storeTimeoutMs: STORE_TIMEOUT_MS,
  createIndexes: false,
};

/** How long a client waits after a failed check of the server; ten seconds by default. */
const CLIENT = { heartbeatFrequencyMS: 500 };

/** How many times an operation may be repeated in the time of one call: with pauses that begin at 5 ms and double. */
const MOST_REPEATS = 14;

async function expectEmpty(locks: LockProvider, name: string): Promise<void> {
  await eventually('nothing is left', async () => {
    const snapshot = await locks.inspect(name);
    return snapshot === null || snapshot.holders.length + snapshot.waiters.length === 0;
  });
}

describe.each(Object.entries(FAULTS))('%s', (_, { data, isKnown }) => {
  const doesNotAnswer = 'blockConnection' in data;
  const isOfWrites = 'writeConcernError' in data;

  it('makes no wait, extension, release or stream fail if it ends, and leaves nothing behind', async () => {
    const [one, other] = await twoProviders(OPTIONS, CLIENT);
    const lost: unknown[] = [];
    for (const { locks } of [one, other]) locks.on('lost', (event) => lost.push(event));
    await (await one.locks.acquireMutex('warm')).release();

    const before = one.count('findAndModify');
    const healAcquire = await failCommands(one, { times: 2 }, { failCommands: ['findAndModify'], ...data });
    const hold = await within(10_000, 'the grant', one.locks.acquireMutex('a'));
    const sent = one.count('findAndModify') - before;
    expect(sent).toBeGreaterThanOrEqual(3);
    // After two silences, or on a busy machine, the request is past its not-after, and is made anew under another id.
    expect(sent).toBeLessThanOrEqual(4);
    expect(await other.locks.inspect('a')).toMatchObject({ holders: [{ id: hold.id }], waiters: [] });
    await healAcquire();

    for (const name of isOfWrites ? ['update'] : ['update', 'find']) {
      const heal = await failCommands(one, { times: 2 }, { failCommands: [name], ...data });
      const failed = one.count(name) + 2;
      await eventually('it is extended all the same', () => one.count(name) > failed);
      expect(hold.isHeld).toBe(true);
      await heal();
    }

    if (!isOfWrites) {
      await failCommands(other, { times: 2 }, { failCommands: ['aggregate', 'hello'], ...data });
    }
    const wait = later(other.locks.acquireMutex('a'));
    await untilWaiting(one.locks, 'a');
    const healRelease = await failCommands(one, { times: 2 }, { failCommands: ['findAndModify'], ...data });
    expect(await within(10_000, 'the release', hold.release())).toBe(true);
    await healRelease();
    const next = await within(10_000, 'the hand-over', wait);
    expect(next.fencingToken).toBeGreaterThan(hold.fencingToken);
    expect(await next.release()).toBe(true);
    await expectEmpty(one.locks, 'a');
    expect(lost).toEqual([]);
  });

  // After a silence the command is repeated, because an index takes longer to build than a call.
  it.skipIf(doesNotAnswer)(
    'makes ensureIndexes() fail with an error that says whether its command may have been applied',
    async () => {
      const [one] = await twoProviders(OPTIONS, CLIENT);
      const heal = await failCommands(one, { times: 1 }, { failCommands: ['createIndexes'], ...data });
      const error = await rejection(within(10_000, 'an answer', one.locks.ensureIndexes()));
      expect(error).toMatchObject({ code: 'STORE_UNAVAILABLE', outcomeKnown: isKnown });
      await heal();
    },
  );

  it('makes a try fail with a typed error, after a bounded number of repeats, if it does not end', async () => {
    const [one, other] = await twoProviders(OPTIONS, CLIENT);
    await (await one.locks.acquireMutex('warm')).release();
    const before = one.count('findAndModify');
    const heal = await failCommands(one, 'alwaysOn', { failCommands: ['findAndModify'], ...data });
    const startedMs = performance.now();
    const error = await rejection(within(10_000, 'an answer', one.locks.tryAcquireMutex('a')));
    expect(performance.now() - startedMs).toBeLessThan(STORE_TIMEOUT_MS + 4_500);
    expect(error).toMatchObject({ code: 'STORE_UNAVAILABLE', lockName: 'a' });
    // The time may be over while a repeat is in flight: then nothing is known, whatever the answers before said.
    if (!isKnown) expect(error).toMatchObject({ outcomeKnown: false });
    const sent = one.count('findAndModify') - before;
    expect(sent).toBeGreaterThanOrEqual(1);
    expect(sent).toBeLessThanOrEqual(doesNotAnswer ? 2 : MOST_REPEATS);
    await heal();
    await expectEmpty(other.locks, 'a');
    const next = await within(10_000, 'a fresh acquire', one.locks.acquireMutex('a'));
    expect(await next.release()).toBe(true);
  });
});
