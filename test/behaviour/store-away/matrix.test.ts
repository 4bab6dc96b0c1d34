import { inspect } from 'node:util';

import { MongoClient } from 'mongodb';
import { describe, expect, inject, it } from 'vitest';

import { AcquireTimeoutError, LockProvider, StoreUnavailableError } from '../../../src/index.js';
import { QuorumLockProvider } from '../../../src/quorum/index.js';
import type { LockHandle } from '../../../src/index.js';
import { freePort } from '../../../lab/ports.js';
import { OwnClient, OwnDatabase, randomName } from '../../support/test-provider.js';
import { eventually, later, rejection, staysOpen, within } from '../../../lab/patience.js';
import { Door } from './door.js';

/** The time bound of a call leaves the driver's monitors enough time to find out that no server is there. */
const OPTIONS = { storeTimeoutMs: 4_000, createIndexes: false };
const TIMEOUT_MS = 4_000;

/** How late an answer may be: one second for a cancel, and the rest for a busy machine. */
const LATE_MS = 8_000;

interface Request {
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

/** Every call that waits for a lock. Each resolves with its hold. */
const WAITS: Readonly<Record<string, (locks: LockProvider, request: Request) => Promise<unknown>>> = {
  acquire: (locks, request) => locks.acquireMutex('a', request),
  'acquire of a permit': (locks, request) => locks.createSemaphore('s', 2).acquire(request),
  'acquire to write': (locks, request) => locks.createReaderWriterLock('rw').acquireWrite(request),
  acquireAll: (locks, request) =>
    locks.acquireAll([{ mutex: locks.createMutex('a') }, { mutex: locks.createMutex('b') }], request),
};

/** Every call that does not wait for a lock. */
const QUESTIONS: Readonly<Record<string, (locks: LockProvider) => Promise<unknown>>> = {
  tryAcquire: (locks) => locks.tryAcquireMutex('a'),
  tryAcquireAll: (locks) => locks.tryAcquireAll([{ mutex: locks.createMutex('a') }]),
  inspect: (locks) => locks.inspect('a'),
  list: (locks) => locks.list().next(),
  revoke: (locks) => locks.revoke('a'),
  resize: (locks) => locks.createSemaphore('s', 2).resize(3),
};

/** Reasons why there is no store, each with the message that an error has to contain. */
const ABSENCES: Readonly<
  Record<string, { readonly uri: () => string | Promise<string>; readonly why: RegExp }>
> = {
  'no server listens': {
    uri: async () => `mongodb://127.0.0.1:${String(await freePort())}/`,
    why: /connect ECONNREFUSED 127\.0\.0\.1:\d+/,
  },
  'the host is unknown': {
    uri: () => 'mongodb://no-such-host.invalid/',
    why: /getaddrinfo E\w+ no-such-host\.invalid/,
  },
  'the replica set has another name': {
    uri: () => inject('mongoUri').replace(/replicaSet=[^&]*/, 'replicaSet=another'),
    why: /no member of replica set "another" was found at 127\.0\.0\.1:\d+/,
  },
};

/** How long the driver looks for a server before it gives up. */
const DRIVER_PATIENCE: Readonly<Record<string, number>> = { soon: 1_000, late: 30_000 };

const product = <A, B>(some: readonly A[], others: readonly B[]): [A, B][] =>
  some.flatMap((one) => others.map((other): [A, B] => [one, other]));

async function expectRejection(promise: Promise<unknown>, boundMs: number): Promise<Error> {
  const startedMs = performance.now();
  const error = await rejection(within(30_000, 'an end', promise));
  expect(performance.now() - startedMs).toBeLessThan(boundMs + LATE_MS);
  expect(error).toBeInstanceOf(Error);
  return error as Error;
}

// Not `describe.concurrent.for`: in Vitest 4.1 its tests run one after the other all the same.
describe.for(product(Object.entries(ABSENCES), Object.entries(DRIVER_PATIENCE)))(
  'without a reachable store',
  { concurrent: true },
  ([[absence, { uri, why }], [when, serverSelectionTimeoutMS]]) => {
    const title = `${absence}, and the driver gives up ${when}`;

    it.for(Object.entries(WAITS))(
      `${title}: a timed %s fails with an error that says why the store did not answer`,
      async ([, wait]) => {
        await using own = new OwnClient(await uri(), 'x', { serverSelectionTimeoutMS });
        const locks = own.provider(OPTIONS);
        const error = await expectRejection(wait(locks, { timeoutMs: TIMEOUT_MS }), TIMEOUT_MS);
        expect(error).toBeInstanceOf(AcquireTimeoutError);
        expect(error.message).toContain('; the store did not answer: ');
        expect(error.message).toMatch(why);
        expect(error.cause).toMatchObject({ message: expect.stringMatching(why) as string });
        expect(error).toMatchObject({ holders: [], place: null });
      },
    );

    it.for(Object.entries(QUESTIONS))(
      `${title}: %s fails with the reason and outcomeKnown: true`,
      async ([, ask]) => {
        await using own = new OwnClient(await uri(), 'x', { serverSelectionTimeoutMS });
        const locks = own.provider(OPTIONS);
        const error = await expectRejection(ask(locks), OPTIONS.storeTimeoutMs);
        expect(error).toBeInstanceOf(StoreUnavailableError);
        expect(error.message).toMatch(why);
        expect(error).toMatchObject({ outcomeKnown: true });
        expect(error.cause).toMatchObject({ message: expect.stringMatching(why) as string });
      },
    );

    it(`${title}: untimed waits go on until they are aborted, and storeError events give the reason`, async () => {
      await using own = new OwnClient(await uri(), 'x', { serverSelectionTimeoutMS });
      const locks = own.provider(OPTIONS);
      const errors: unknown[] = [];
      locks.on('storeError', ({ error }) => errors.push(error));
      const controller = new AbortController();
      const waits = Object.values(WAITS).map((wait) => later(wait(locks, { signal: controller.signal })));
      await eventually('events', () => errors.length > 3);
      expect(errors.map(String).join('\n')).toMatch(why);
      for (const wait of waits) expect(await staysOpen(wait, 20)).toBe(true);
      controller.abort(new Error('enough'));
      for (const wait of waits) expect(await rejection(wait)).toBe(controller.signal.reason);
    });
  },
);

describe.concurrent('a store that becomes reachable late', () => {
  it.for(product(Object.keys(WAITS), ['with a timeout', 'without a timeout']))(
    'grants a waiting %s %s',
    async ([name, bound]) => {
      const wait = WAITS[name];
      if (wait === undefined) throw new Error('no such wait in the table');
      const request = bound === 'with a timeout' ? { timeoutMs: 40_000 } : {};
      await using door = await Door.to(inject('mongoUri'));
      await using own = new OwnClient(door.uri, randomName('away'), { serverSelectionTimeoutMS: 250 });
      const locks = own.provider(OPTIONS);
      let errors = 0;
      locks.on('storeError', () => (errors += 1));
      const waiting = later(wait(locks, request));
      await eventually('it has failed', () => errors > 3);
      await door.open();
      const hold = (await within(30_000, 'the grant', waiting)) as LockHandle;
      expect(hold.isHeld).toBe(true);
      expect(await hold.release()).toBe(true);
      await own.db.dropDatabase();
    },
  );

  it('lets a leader be elected, a job run, and a quorum lock be granted', async () => {
    await using door = await Door.to(inject('mongoUri'));
    const clients = Array.from(
      { length: 3 },
      () => new OwnClient(door.uri, randomName('away'), { serverSelectionTimeoutMS: 250 }),
    );
    const [first] = clients;
    if (first === undefined) throw new Error('there are three');
    await using locks = first.provider(OPTIONS);
    await using quorum = new QuorumLockProvider(
      clients.map(({ db }) => db),
      { storeTimeoutMs: 500 },
    );
    let errors = 0;
    locks.on('storeError', () => (errors += 1));
    const election = locks.createLeaderElection('e');
    const elected = later(election.untilElected());
    let runs = 0;
    const job = locks.createScheduledJob('j', { everyMs: 200, run: () => void (runs += 1) });
    const started = later(Promise.all([election.start(), job.start()]));
    const acquired = later(quorum.createMutex('q').acquire());
    await eventually('they have failed', () => errors > 5);
    await door.open();
    await within(30_000, 'the starts', started);
    expect((await within(30_000, 'an election', elected)).isHeld).toBe(true);
    await eventually('the job runs', () => runs > 0);
    await (await within(30_000, 'a quorum', acquired)).release();
    await Promise.all([job.stop(), election.stop()]);
    await Promise.all([locks.close(), quorum.close()]);
    for (const { client, db } of clients) {
      await db.dropDatabase();
      await client.close();
    }
  });
});

/** Another provider holds all these locks, and `here` has a wait in the queue of each. */
async function queuedBehind(
  run: (parts: {
    readonly door: Door;
    readonly here: LockProvider;
    readonly waits: readonly Promise<unknown>[];
    readonly releaseAll: () => Promise<void>;
  }) => Promise<void>,
  request: Request,
): Promise<void> {
  await using door = await (await Door.to(inject('mongoUri'))).open();
  await using database = new OwnDatabase();
  await using own = new OwnClient(door.uri, database.name, {
    serverSelectionTimeoutMS: 250,
    heartbeatFrequencyMS: 500,
  });
  const other = database.plain.provider();
  const here = own.provider({ ...OPTIONS, leaseMs: 20_000 });
  const knownToWait = new Set<string>();
  here.on('waiting', ({ lockName }) => knownToWait.add(lockName));
  const theirs = [
    await other.acquireMutex('a'),
    await other.createSemaphore('s', 2).acquire({ permits: 2 }),
    await other.createReaderWriterLock('rw').acquireRead(),
    await other.createReaderWriterLock('up').acquireRead(),
  ];
  const upgradeable = await here.createReaderWriterLock('up').acquireUpgradeableRead();
  const waits = [
    ...Object.values(WAITS).map((wait) => later(wait(here, request))),
    later(upgradeable.upgrade(request).then(() => upgradeable)),
  ];
  // Their process has to know it, too, before its store goes away.
  await eventually('all of them are queued', () => ['a', 's', 'rw'].every((name) => knownToWait.has(name)));
  // A request of the same process for the same lock is answered after the upgrade.
  await eventually('the upgrade keeps other readers out', async () => {
    const read = await here.createReaderWriterLock('up').tryAcquireRead();
    await read?.release();
    return read === null;
  });
  const releaseAll = async (): Promise<void> => {
    await Promise.all(theirs.map((hold) => hold.release()));
  };
  await run({ door, here, waits, releaseAll });
}

describe.concurrent('a store that goes away', () => {
  it('makes queued requests time out with an error that says why the store stopped answering', async () => {
    await queuedBehind(
      async ({ door, waits }) => {
        await door.shut();
        for (const wait of waits) {
          const error = await expectRejection(wait, 12_000);
          expect(error).toBeInstanceOf(AcquireTimeoutError);
          expect(error.message).toMatch(/; held by .*; the store stopped answering: .*ECONNREFUSED 127/);
          expect(error.cause).toMatchObject({ message: expect.stringMatching(/ECONNREFUSED/) as string });
        }
      },
      { timeoutMs: 8_000 },
    );
  });

  it('grants queued requests when it is back, and inspect() meanwhile fails with the reason', async () => {
    await queuedBehind(async ({ door, here, waits, releaseAll }) => {
      await door.shut();
      const error = await expectRejection(here.inspect('a'), OPTIONS.storeTimeoutMs);
      expect(error).toBeInstanceOf(StoreUnavailableError);
      expect(error.message).toMatch(/ECONNREFUSED|connection/);
      await door.open();
      await releaseAll();
      // Two of them want the same mutex, one after the other.
      await Promise.all(
        waits.map(async (wait) => {
          const hold = (await within(60_000, 'the grant', wait)) as LockHandle;
          expect(hold.isHeld).toBe(true);
          await hold.release();
        }),
      );
    }, {});
  });

  it('does not end a hold whose confirm() fails', async () => {
    await using door = await (await Door.to(inject('mongoUri'))).open();
    await using own = new OwnClient(door.uri, randomName('away'), { serverSelectionTimeoutMS: 250 });
    const locks = own.provider(OPTIONS);
    const hold = await locks.acquireMutex('a');
    await door.shut();
    const error = await expectRejection(hold.confirm(), OPTIONS.storeTimeoutMs);
    expect(error).toMatchObject({ code: 'STORE_UNAVAILABLE' });
    expect(hold.isHeld).toBe(true);
    await door.open();
    expect(await hold.release()).toBe(true);
    await own.db.dropDatabase();
  });
});

describe.concurrent('the error for an unreachable store', () => {
  it('prints in a few lines, and its stack shows the call of the application', async () => {
    const client = new MongoClient('mongodb://127.0.0.1:1/', { serverSelectionTimeoutMS: 250 });
    await using locks = new LockProvider(client.db('x'), OPTIONS);
    async function bookSeat(): Promise<unknown> {
      return await locks.acquireMutex('a', { timeoutMs: 600 });
    }
    async function seatOrNone(): Promise<unknown> {
      return await locks.createMutex('a').tryAcquire();
    }
    async function useSeat(): Promise<void> {
      await locks.useMutex('a', () => 1, { timeoutMs: 600 });
    }
    for (const call of [bookSeat, seatOrNone, useSeat]) {
      const error = await rejection(call());
      expect((error as Error).stack).toContain(`${call.name} (${import.meta.filename}:`);
      expect(inspect(error).length).toBeLessThan(4_000);
      expect(inspect(error)).not.toContain('TopologyDescription');
    }
    await client.close();
  });
});
