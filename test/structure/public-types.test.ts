// The types that callers see. `npm run types` checks them: a type that has changed does not compile. At run time these
// tests only show that the calls are never made by a mistake, because nothing here has a server.
import { LockProvider, fencedTransaction, fencedUpdateOne } from '../../src/index.js';
import type {
  AcquireOptions,
  CompositeHandle,
  DriverDb,
  DriverTransactionOptions,
  DriverUpdateOptions,
  DriverUpdateResult,
  LockHandle,
  PermitHandle,
  ReaderWriterHandle,
  RevokeResult,
} from '../../src/index.js';
import { QuorumLockProvider } from '../../src/quorum/index.js';
import { MongoClient } from 'mongodb';
import type { ClientSession, Db, TransactionOptions, UpdateOptions, UpdateResult } from 'mongodb';
import { expectTypeOf, it } from 'vitest';

interface Account {
  readonly _id: string;
  readonly balance: number;
}

const client = new MongoClient('mongodb://localhost:1');
const locks = new LockProvider(client.db('types'));
const quorum = new QuorumLockProvider(['a', 'b', 'c'].map((name) => client.db(name)));
const accounts = client.db('types').collection<Account>('accounts');
const mutex = locks.createMutex('a');
const shelves = locks.createReaderWriterLock('b');
const permits = locks.createSemaphore('c', 3);
declare const lock: LockHandle;

/** The type that the promise of a call has. The call is not made. */
const resultOf = <T>(call: () => Promise<T>) => expectTypeOf(call).returns.resolves;

it('each acquire gives the handle of its kind, and each try the same or null', () => {
  resultOf(() => mutex.acquire({ timeoutMs: 1 })).toEqualTypeOf<LockHandle>();
  resultOf(() => mutex.tryAcquire()).toEqualTypeOf<LockHandle | null>();
  resultOf(() => locks.acquireMutex('a', { why: 'test' })).toEqualTypeOf<LockHandle>();
  resultOf(() => shelves.acquireRead()).toEqualTypeOf<LockHandle>();
  resultOf(() => shelves.acquireWrite()).toEqualTypeOf<ReaderWriterHandle>();
  resultOf(() => shelves.acquireUpgradeableRead()).toEqualTypeOf<ReaderWriterHandle>();
  resultOf(() => permits.acquire({ permits: 2 })).toEqualTypeOf<PermitHandle>();
  resultOf(() => quorum.createMutex('a').acquire()).toEqualTypeOf<LockHandle>();
});

it('use gives what the work gives, also without a promise', () => {
  resultOf(() => mutex.use(() => 1)).toEqualTypeOf<number>();
  resultOf(() => locks.useMutex('a', () => Promise.resolve('x'))).toEqualTypeOf<string>();
  resultOf(() => permits.use((held) => held)).toEqualTypeOf<PermitHandle>();
  resultOf(() => shelves.useRead((held) => held.name)).toEqualTypeOf<string>();
});

it('acquireAll gives a handle for each request, at its place', () => {
  const all = () => locks.acquireAll([{ mutex }, { write: shelves }, { semaphore: permits, permits: 2 }]);
  expectTypeOf(all)
    .returns.resolves.toHaveProperty('handles')
    .toEqualTypeOf<readonly [LockHandle, ReaderWriterHandle, PermitHandle]>();
  const tried = () => locks.tryAcquireAll([{ read: shelves }]);
  expectTypeOf(tried)
    .returns.resolves.exclude<null>()
    .toHaveProperty('handles')
    .toEqualTypeOf<readonly [LockHandle]>();
  expectTypeOf<CompositeHandle<[]>['handles']>().toEqualTypeOf<readonly []>();
});

it('the fencing helpers take their types from the collection and the client', () => {
  const update = () => fencedUpdateOne(accounts, { _id: 'a' }, { $inc: { balance: 1 } }, lock);
  resultOf(update).toEqualTypeOf<UpdateResult<Account>>();
  resultOf(() =>
    fencedTransaction(client, lock, (session) => {
      expectTypeOf(session).toEqualTypeOf<ClientSession>();
      return Promise.resolve(1);
    }),
  ).toEqualTypeOf<number>();
  resultOf(() =>
    fencedTransaction<string>(client, [lock], () => Promise.resolve('x')),
  ).toEqualTypeOf<string>();
  // @ts-expect-error -- the filter must fit the collection
  const wrongFilter = () => fencedUpdateOne(accounts, { _id: 1 }, { $inc: { balance: 1 } }, lock);
  // @ts-expect-error -- the update must fit the collection
  const wrongUpdate = () => fencedUpdateOne(accounts, { _id: 'a' }, { $set: { balance: 'x' } }, lock);
  expectTypeOf([wrongFilter, wrongUpdate]).toBeArray();
  const given = () => fencedUpdateOne<Account>(accounts, { _id: 'a' }, { $inc: { balance: 1 } }, lock);
  resultOf(given).toEqualTypeOf<DriverUpdateResult>();
});

it('values of the driver fit, and others do not', () => {
  expectTypeOf<Db>().toExtend<DriverDb>();
  expectTypeOf<TransactionOptions>().toExtend<DriverTransactionOptions>();
  expectTypeOf<UpdateOptions>().toExtend<DriverUpdateOptions>();
  expectTypeOf<MongoClient>().not.toExtend<DriverDb>();
  expectTypeOf<AcquireOptions['signal']>().toEqualTypeOf<AbortSignal | undefined>();
  resultOf(() => locks.revoke('a', { why: 'test' })).toEqualTypeOf<RevokeResult>();
});
