import { MongoClient, MongoServerError } from 'mongodb';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import type { Session } from '../../../src/cli/connection.js';
import { checkIndex, checkPool, checkServer, checkStreams } from '../../../src/cli/doctor-checks.js';
import { StoredLocks } from '../../../src/cli/doctor-locks.js';
import { checkClocks, checkRoundTrip, checkWrite } from '../../../src/cli/doctor-times.js';
import { eventually } from '../../../lab/patience.js';
import { keepHold } from '../../support/keep-hold.js';
import { testProvider } from '../../support/test-provider.js';
import type { TestProvider } from '../../support/test-provider.js';
import { untilKept } from '../seat-cache/until-kept.js';

const COLLECTION = 'distributed.locks';

const stub = (parts: object): Session => parts as unknown as Session;

/** A server that gives the same answer to each command. */
const answering = (answer: object): Session =>
  stub({ db: { admin: () => ({ command: () => Promise.resolve(answer) }) } });

/** The session of a command on the real server. */
const sessionOf = ({ client, db, locks }: TestProvider): Session =>
  stub({ client, db, locks, collectionName: COLLECTION });

const refused = (): Promise<never> => Promise.reject(new MongoServerError({ message: 'no', code: 13 }));

const containing = (...parts: readonly string[]): object => ({
  detail: expect.stringMatching(new RegExp(parts.join('.*'))) as string,
});

const { signal } = new AbortController();

afterEach(() => {
  vi.useRealTimers();
});

describe('the server', () => {
  it.each(['5.0.0', '8.2.1', '10.0.0'])('in version %s is well', async (version) => {
    expect(await checkServer(answering({ version }))).toEqual({
      ...{ status: 'ok', detail: `MongoDB ${version}`, advice: '' },
    });
  });

  it('in version 4.4 is a failure', async () => {
    const finding = await checkServer(answering({ version: '4.4.29' }));
    expect(finding).toMatchObject({ status: 'fail', ...containing('MongoDB 4.4.29', 'refuses') });
  });
});

describe('clocks', () => {
  beforeEach(() => {
    // Time stands still, so that a difference is exact.
    vi.useFakeTimers({ toFake: ['Date'] });
  });

  let closed = 0;

  /** Members that are so far ahead of this machine, in ms; `null` for a member that does not answer. */
  function members(aheadMs: readonly (number | null)[]): Session {
    closed = 0;
    const hosts = aheadMs.map((_, index) => `m${index}:1`);
    const clientOf = (host: string): object => {
      const ms = aheadMs[hosts.indexOf(host)] ?? null;
      const command = (): Promise<object> => Promise.resolve({ localTime: new Date(Date.now() + (ms ?? 0)) });
      return {
        connect: () => (ms === null ? Promise.reject(new Error('refused')) : Promise.resolve()),
        close: () => Promise.resolve((closed += 1)),
        db: () => ({ command }),
      };
    };
    return stub({ ...answering({ setName: 'rs0', hosts }), clientOf });
  }

  it.each([
    ['1 s apart are a failure', [0, 1_000], 'fail', 'm1:1 \\+1.0s .*1.0s apart: .*two processes'],
    ['1 s apart are a failure in both directions', [0, -1_000, 0], 'fail', 'm1:1 −1.0s,.*two processes'],
    ['1 s apart are a failure also if a member is silent', [0, null, 1_000], 'fail', 'does not answer.*two'],
    ['less than 1 s apart are a warning', [0, 999], 'warn', '999ms apart: from 1.0s apart, two processes'],
    ['0.5 s apart are a warning', [-250, 250], 'warn', '500ms apart: from 1.0s apart, two processes'],
    ['less than 0.5 s apart are well', [0, 499], 'ok', '499ms apart$'],
    ['1 s ahead of this machine are a warning', [1_000, 1_000], 'warn', '0ms apart: leases do not depend'],
    ['1 s behind this machine are a warning', [-1_000], 'warn', '0ms apart: leases do not depend'],
    ['less than 1 s ahead of this machine are well', [999, 999], 'ok', '0ms apart$'],
    ['of which one is silent are a warning', [0, null], 'warn', 'm1:1 does not answer.*clock of a silent'],
    ['of which all are silent are a warning', [null, null], 'warn', 'no clock was compared: .*two processes'],
    ['of no replica set are not compared', [], 'ok', 'no member'],
  ] as const)('%s', async (_, aheadMs, status, detail) => {
    const finding = await checkClocks(members(aheadMs));
    expect(finding).toMatchObject({ status, ...containing(detail) });
    expect(finding.advice === '').toBe(status === 'ok');
    expect(closed).toBe(aheadMs.length);
  });

  it.each([
    ['of this machine', [1_000, 1_000], /this machine/],
    ['of the members', [0, 500], /every member.*clockAllowanceMs/],
    ['of a silent member', [0, null], /does not answer/],
  ] as const)('the advice is about the clock %s', async (_, aheadMs, advice) => {
    expect((await checkClocks(members(aheadMs))).advice).toMatch(advice);
  });
});

describe('times', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['performance'] });
  });

  /** Passes these times, one at each call, and then the last one again and again. */
  function passing(times: readonly number[]): () => Promise<void> {
    let calls = 0;
    return () => {
      vi.advanceTimersByTime(times[Math.min(calls, times.length - 1)] ?? 0);
      calls += 1;
      return Promise.resolve();
    };
  }

  it.each([
    ['200 ms is a warning', [200], 'warn', '^200ms .*median of 5: each acquire'],
    ['less than 200 ms is well', [199], 'ok', '^199ms .*median of 5$'],
    ['20 ms in most rounds is well', [900, 900, 20, 20, 20], 'ok', '^20ms .*median of 5$'],
    ['1 s has fewer rounds', [1_000], 'warn', '^1.0s .*median of 3: '],
  ] as const)('a round trip of %s', async (_, times, status, detail) => {
    const finding = await checkRoundTrip(stub({ db: { command: passing(times) } }));
    expect(finding).toMatchObject({ status, ...containing(detail) });
  });

  const ending = { holds: () => undefined, holdsNothing: () => undefined };

  it.each([
    ['400 ms is a warning', [200], 'warn', '^400ms .*median of 5: a majority confirms slowly'],
    ['less than 400 ms is well', [199], 'ok', '^398ms .*median of 5$'],
  ] as const)('a majority write of %s', async (_, times, status, detail) => {
    const pass = passing(times);
    const locks = { tryAcquireMutex: () => pass().then(() => ({ release: pass })) };
    expect(await checkWrite(stub({ locks, ending }), signal)).toMatchObject({
      ...{ status, ...containing(detail) },
    });
  });

  it('a majority write is not measured if all locks for it are taken', async () => {
    const tryAcquireMutex = vi.fn(() => Promise.resolve(null));
    expect(await checkWrite(stub({ locks: { tryAcquireMutex }, ending }), signal)).toMatchObject({
      ...{ status: 'warn', ...containing('not measured: other doctors') },
    });
    const names = new Set((tryAcquireMutex.mock.calls as unknown as [string][]).map(([name]) => name));
    expect(names.size).toBe(8);
  });
});

describe('the pool', () => {
  it.each([
    [1, 'warn', ': waiters, observers of elections and dashboards poll'],
    [2, 'warn', 'of 2 connections: observers of elections and dashboards poll'],
    [3, 'ok', 'of 3 connections, .*a dashboard polls below 4$'],
    [4, 'ok', 'of 4 connections$'],
    [0, 'ok', 'without a bound$'],
  ] as const)('of maxPoolSize=%i', (size, status, detail) => {
    const client = new MongoClient(`mongodb://127.0.0.1/?maxPoolSize=${size}`);
    expect(checkPool(stub({ client }))).toMatchObject({ status, ...containing(detail) });
  });
});

describe('the index', () => {
  it('that purges unused locks is missed when somebody has dropped it', async () => {
    const provider = await testProvider();
    await (await provider.locks.acquireMutex('x')).release();
    await provider.locks.close();
    await eventually(
      'the index is there',
      async (see) => see(await checkIndex(sessionOf(provider))).status === 'ok',
    );
    expect(await checkIndex(sessionOf(provider))).toMatchObject(containing('is there$'));
    await provider.db.collection(COLLECTION).dropIndexes();
    expect(await checkIndex(sessionOf(provider))).toMatchObject({
      ...{ status: 'warn', ...containing('is missing: unused documents stay$') },
      advice: expect.stringContaining('Grant createIndex') as string,
    });
  });

  it('is not missed in a database without locks', async () => {
    const finding = await checkIndex(sessionOf(await testProvider()));
    expect(finding).toMatchObject({ status: 'ok', ...containing('^no lock was ever stored') });
  });
});

describe('change streams', () => {
  it('of the collection are counted, and those of others are not', async () => {
    const provider = await testProvider();
    await Promise.all([COLLECTION, 'other'].map((name) => provider.db.createCollection(name)));
    const detail = async (): Promise<string> => (await checkStreams(sessionOf(provider))).detail;
    expect(await detail()).toMatch(/^0 change streams are open/);
    for (const [name, count] of [
      ['other', '0 change streams are'],
      [COLLECTION, '1 change stream is'],
      [COLLECTION, '2 change streams are'],
    ] as const) {
      await provider.db.collection(name).watch([], { maxAwaitTimeMS: 1 }).tryNext();
      expect(await detail()).toBe(`${count} open on the collection`);
    }
  });

  it('are not counted without the privilege inprog', async () => {
    const client = { db: () => ({ aggregate: () => ({ toArray: refused }) }) };
    const session = stub({ client, db: { databaseName: 'app' }, collectionName: COLLECTION });
    expect(await checkStreams(session)).toMatchObject({
      status: 'ok',
      ...containing('^not counted: .*inprog'),
    });
  });
});

it('seats that processes keep are counted among those that are taken', async () => {
  const provider = await testProvider({ leaseMs: 60_000 });
  await keepHold(provider.locks.acquireMutex('held'));
  await untilKept(provider, provider.locks.createMutex('kept', { keepMs: 60_000 }));
  expect(await new StoredLocks().checkKeptSeats(sessionOf(provider), signal)).toMatchObject({
    ...{ status: 'ok', ...containing('^2 seats are taken; processes keep 1 between') },
  });
});
