// The options that callers may give, and what the other public functions take and give. `npm run types` checks this file:
// each `@ts-expect-error` fails to compile if TypeScript accepts the line after it. Nothing here is called, because nothing
// here has a server.
import { MongoClient } from 'mongodb';
import { expectTypeOf, it } from 'vitest';

import { LockProvider, fencedTransaction, fencedUpdateOne } from '../../src/index.js';
import type {
  CandidateInfo,
  CompositeHandle,
  JobRun,
  JobStatus,
  LeaderElection,
  LeaderInfo,
  LockHandle,
  LockProviderEvents,
  LockProviderHealth,
  LockSnapshot,
  Mode,
  Mutex,
  PermitHandle,
  ReaderWriterHandle,
  ReaderWriterLock,
  ScheduledJob,
  Semaphore,
  WebLock,
  WebLocks,
  WebLocksSnapshot,
} from '../../src/index.js';
import { dashboard } from '../../src/dashboard/index.js';
import type { DashboardHandler } from '../../src/dashboard/index.js';
import { runCoordinator } from '../../src/node-cron/index.js';
import type { RunCoordinator } from '../../src/node-cron/index.js';
import { instrument } from '../../src/opentelemetry/index.js';
import { QuorumLockProvider } from '../../src/quorum/index.js';
import type { QuorumHealth } from '../../src/quorum/index.js';
import { MemoryReplicaSet } from '../../src/testing/index.js';

const client = new MongoClient('mongodb://localhost:1');
const db = client.db('types');
declare const locks: LockProvider;
declare const quorum: QuorumLockProvider;
declare const lock: LockHandle;
declare const upgradeable: ReaderWriterHandle;
declare const composite: CompositeHandle<[{ mutex: Mutex }]>;
declare const election: LeaderElection;
declare const job: ScheduledJob;
declare const mutex: Mutex;
declare const shelves: ReaderWriterLock;
declare const permits: Semaphore;
declare const web: WebLocks;
declare const set: MemoryReplicaSet;

/** The type that the promise of a call has. The call is not made. */
const resultOf = <T>(call: () => Promise<T>) => expectTypeOf(call).returns.resolves;

/** Takes calls that must not compile. They are not made. */
const neverCalled = (...calls: (() => unknown)[]): void => {
  expectTypeOf(calls).toBeArray();
};

it('every method that creates something gives its interface', () => {
  expectTypeOf(() =>
    locks.createMutex('a', { leaseMs: 1_000, keepMs: 10, passes: 1 }),
  ).returns.toEqualTypeOf<Mutex>();
  expectTypeOf(() => locks.createReaderWriterLock('a')).returns.toEqualTypeOf<ReaderWriterLock>();
  expectTypeOf(() =>
    locks.createSemaphore('a', 3, { whenLimitDiffers: 'follow' }),
  ).returns.toEqualTypeOf<Semaphore>();
  expectTypeOf(() => locks.createLeaderElection('a')).returns.toEqualTypeOf<LeaderElection>();
  expectTypeOf(() =>
    locks.createScheduledJob('a', { everyMs: 10, run: () => 1 }),
  ).returns.toEqualTypeOf<ScheduledJob>();
  expectTypeOf(() => locks.webLocks()).returns.toEqualTypeOf<WebLocks>();
  expectTypeOf(() => runCoordinator(locks)).returns.toEqualTypeOf<RunCoordinator>();
  expectTypeOf(() => instrument(locks)).returns.toEqualTypeOf<() => void>();
  expectTypeOf(() => instrument(quorum, { groupOf: undefined })).returns.toEqualTypeOf<() => void>();
  expectTypeOf(() => dashboard(locks, { basePath: '/x' })).returns.toEqualTypeOf<DashboardHandler>();
  expectTypeOf<DashboardHandler>().toEqualTypeOf<(request: Request) => Promise<Response>>();
  expectTypeOf(() => quorum.createMutex('a')).returns.toEqualTypeOf<Mutex>();
  expectTypeOf(() => quorum.createSemaphore('a', 1)).returns.toBeNever();
});

it('every try gives null beside its handle, and every use what the work gives', () => {
  resultOf(() => locks.tryAcquireMutex('a')).toEqualTypeOf<LockHandle | null>();
  resultOf(() => shelves.tryAcquireRead()).toEqualTypeOf<LockHandle | null>();
  resultOf(() => shelves.tryAcquireWrite()).toEqualTypeOf<ReaderWriterHandle | null>();
  resultOf(() => shelves.tryAcquireUpgradeableRead()).toEqualTypeOf<ReaderWriterHandle | null>();
  resultOf(() => permits.tryAcquire()).toEqualTypeOf<PermitHandle | null>();
  resultOf(() => shelves.useWrite((held) => held.currentMode())).toEqualTypeOf<Mode>();
  resultOf(() => shelves.useUpgradeableRead(() => Promise.resolve(null))).toEqualTypeOf<null>();
  resultOf(() => mutex.use(() => undefined)).toEqualTypeOf<undefined>();
});

it('acquireAll infers the handle of each request from a list that is written out, and refuses others', () => {
  const three = () =>
    locks.acquireAll([{ read: shelves }, { semaphore: permits }, { upgradeableRead: shelves }]);
  expectTypeOf(three)
    .returns.resolves.toHaveProperty('handles')
    .toEqualTypeOf<readonly [LockHandle, PermitHandle, ReaderWriterHandle]>();
  const many = () => locks.acquireAll([mutex].map((each) => ({ mutex: each })));
  expectTypeOf(many).returns.resolves.toHaveProperty('handles').toEqualTypeOf<readonly LockHandle[]>();
  resultOf(() => composite.release()).toEqualTypeOf<boolean>();
  neverCalled(
    // @ts-expect-error -- a mutex has no read
    () => locks.acquireAll([{ read: mutex }]),
    // @ts-expect-error -- acquireAll has no `permits`
    () => locks.acquireAll([{ mutex }], { permits: 2 }),
  );
});

it('a handle tells what it is', () => {
  resultOf(() => lock.release()).toEqualTypeOf<boolean>();
  resultOf(() => lock.confirm()).toBeVoid();
  resultOf(() => upgradeable.tryUpgrade()).toEqualTypeOf<boolean>();
  resultOf(() => upgradeable.downgrade('read')).toBeVoid();
  expectTypeOf(() => lock.fencingToken).returns.toBeNumber();
  expectTypeOf(() => lock.signal).returns.toEqualTypeOf<AbortSignal>();
  neverCalled(
    // @ts-expect-error -- a downgrade does not lead to a write
    () => upgradeable.downgrade('write'),
    // @ts-expect-error -- a mutex has no mode
    () => lock.mode,
  );
});

it('elections and jobs', () => {
  resultOf(() => election.leader()).toEqualTypeOf<LeaderInfo | null>();
  resultOf(() => election.candidates()).toEqualTypeOf<readonly CandidateInfo[]>();
  resultOf(() => election.handOverTo('b', { drainMs: 1 })).toEqualTypeOf<boolean>();
  resultOf(() => job.status()).toEqualTypeOf<JobStatus>();
  resultOf(() => job.runNow()).toBeVoid();
  expectTypeOf(() => job.nextFireAt).returns.toEqualTypeOf<Date | null>();
  neverCalled(
    () =>
      locks.createScheduledJob('a', {
        cron: '* * * * *',
        run: (given) => {
          expectTypeOf(given).toEqualTypeOf<JobRun>();
        },
      }),
    // @ts-expect-error -- a job needs times
    () => locks.createScheduledJob('a', { run: () => 1 }),
    // @ts-expect-error -- cron and everyMs exclude each other
    () => locks.createScheduledJob('a', { cron: '* * * * *', everyMs: 10, run: () => 1 }),
    // @ts-expect-error -- `timeZone`
    () => locks.createScheduledJob('a', { cron: '* * * * *', timezone: 'UTC', run: () => 1 }),
    // @ts-expect-error -- `onElected`
    () => locks.createLeaderElection('a', { onElect: () => undefined }),
    // @ts-expect-error -- no such value
    () => locks.createLeaderElection('a', { onFailure: 'stop' }),
  );
});

it('operators', () => {
  resultOf(() => locks.inspect('a')).toEqualTypeOf<LockSnapshot | null>();
  expectTypeOf(() => locks.list({ prefix: 'a', heldOnly: true })).returns.toEqualTypeOf<
    AsyncGenerator<LockSnapshot>
  >();
  expectTypeOf(() => locks.health()).returns.toEqualTypeOf<LockProviderHealth>();
  expectTypeOf(() => quorum.health()).returns.toEqualTypeOf<QuorumHealth>();
  neverCalled(
    () =>
      locks.on('lost', (event) => {
        expectTypeOf(event).toEqualTypeOf<LockProviderEvents['lost'][0]>();
      }),
    // @ts-expect-error -- no such event
    () => locks.on('loss', () => undefined),
    // @ts-expect-error -- `force`
    () => locks.revoke('a', { forced: true }),
    // @ts-expect-error -- `prefix`
    () => locks.list({ prefixes: 'a' }),
    // @ts-expect-error -- `drainMs`
    () => locks.close({ drain: 1 }),
  );
});

it('web locks give null to the callback only with ifAvailable', () => {
  resultOf(() => web.query()).toEqualTypeOf<WebLocksSnapshot>();
  neverCalled(
    () =>
      web.request('a', (held) => {
        expectTypeOf(held).toEqualTypeOf<WebLock>();
      }),
    () =>
      web.request('a', { mode: 'shared' }, (held) => {
        expectTypeOf(held).toEqualTypeOf<WebLock>();
      }),
    () =>
      web.request('a', { ifAvailable: true }, (held) => {
        expectTypeOf(held).toEqualTypeOf<WebLock | null>();
      }),
    // @ts-expect-error -- no such mode
    () => web.request('a', { mode: 'write' }, () => 1),
    // @ts-expect-error -- `signal`
    () => web.request('a', { abort: new AbortController().signal }, () => 1),
    // @ts-expect-error -- the callback is missing
    () => web.request('a', { mode: 'shared' }),
  );
  resultOf(() => web.request('a', () => Promise.resolve(1))).toEqualTypeOf<number>();
  resultOf(() => web.request('a', { ifAvailable: true }, (held) => held?.name)).toEqualTypeOf<
    string | undefined
  >();
});

it('TypeScript refuses unknown and misspelt options everywhere, and accepts undefined for each', () => {
  const given = { timeoutMs: undefined, signal: undefined, leaseMs: undefined, why: undefined };
  neverCalled(
    () => mutex.acquire(given),
    () => new LockProvider(db, { leaseMs: undefined, wakeups: undefined, pollMs: undefined }),
    // @ts-expect-error -- `leaseMs`
    () => new LockProvider(db, { leaseMS: 1_000 }),
    // @ts-expect-error -- `leaseMs`
    () => new QuorumLockProvider([db], { lease: 1_000 }),
    // @ts-expect-error -- no such value
    () => new LockProvider(db, { wakeups: 'push' }),
    // @ts-expect-error -- `timeoutMs`
    () => mutex.acquire({ timeout: 100 }),
    // @ts-expect-error -- `timeoutMs`
    () => locks.useMutex('a', () => 1, { timeout: 100 }),
    // @ts-expect-error -- only a semaphore has permits
    () => mutex.acquire({ permits: 2 }),
    // @ts-expect-error -- `permits`
    () => permits.acquire({ permit: 2 }),
    // @ts-expect-error -- `keepMs`
    () => locks.createMutex('a', { keep: 10 }),
    // @ts-expect-error -- only a semaphore has a limit
    () => locks.createMutex('a', { whenLimitDiffers: 'follow' }),
    // @ts-expect-error -- the limit is missing
    () => locks.createSemaphore('a'),
    // @ts-expect-error -- `prefix`
    () => runCoordinator(locks, { prefixes: 'a' }),
    // @ts-expect-error -- `groupOf`
    () => instrument(locks, { groupBy: () => 'a' }),
    // @ts-expect-error -- a provider, not its database
    () => instrument(db),
    // @ts-expect-error -- `tokenField`
    () => fencedUpdateOne(db.collection('a'), {}, { $set: { a: 1 } }, lock, { token: 'x' }),
    // @ts-expect-error -- a lock, or several
    () => fencedTransaction(client, 'a', () => Promise.resolve(1)),
    // @ts-expect-error -- it is `seed`
    () => new MemoryReplicaSet({ seeds: 7 }),
    // @ts-expect-error -- no such value
    () => new MemoryReplicaSet({ time: 'fast' }),
  );
});

it('the replica set in memory', () => {
  resultOf(() => set.advance(1)).toBeVoid();
  expectTypeOf(() => set.now()).returns.toEqualTypeOf<Date>();
  expectTypeOf(() => new LockProvider(set.db('app'))).returns.toEqualTypeOf<LockProvider>();
  neverCalled(() => {
    // @ts-expect-error -- `electionMs`
    set.stepDown({ election: 1 });
  });
});
