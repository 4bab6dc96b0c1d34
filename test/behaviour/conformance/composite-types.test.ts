import { MongoClient } from 'mongodb';
import { afterAll, describe, expect, expectTypeOf, it } from 'vitest';

import { LockProvider } from '../../../src/index.js';
import type {
  CompositeHandle,
  HandleFor,
  Hold,
  LockHandle,
  LockRequest,
  Mutex,
  PermitHandle,
  ReaderWriterHandle,
  ReaderWriterLock,
  Semaphore,
} from '../../../src/index.js';

// Nothing is sent: the compiler checks these statements about types.
const client = new MongoClient('mongodb://127.0.0.1:9');
const locks = new LockProvider(client.db('never'));
const mutex = locks.createMutex('a');
const lock = locks.createReaderWriterLock('b');
const semaphore = locks.createSemaphore('c', 2);
const signal = AbortSignal.abort();

afterAll(async () => {
  await client.close();
});

/** The handles that this call would return, as a type; the call itself is aborted. */
async function handlesOf<T extends { readonly handles: unknown } | null>(
  acquired: Promise<T>,
): Promise<NonNullable<T>['handles']> {
  await expect(acquired).rejects.toBe(signal.reason);
  return undefined;
}

describe('the handles of a composite', () => {
  it('have the types that follow from their requests, in the same order', async () => {
    const read = locks.createReaderWriterLock('d');
    const four = await handlesOf(
      locks.acquireAll([{ semaphore, permits: 2 }, { mutex }, { read }, { write: lock }], { signal }),
    );
    expectTypeOf(four).toEqualTypeOf<readonly [PermitHandle, LockHandle, LockHandle, ReaderWriterHandle]>();
    const upgradeable = await handlesOf(locks.acquireAll([{ upgradeableRead: lock }], { signal }));
    expectTypeOf(upgradeable).toEqualTypeOf<readonly [ReaderWriterHandle]>();
  });

  it('have the same types after a try, which may return null', async () => {
    const tried = locks.tryAcquireAll([{ mutex }, { write: lock }], { signal });
    expectTypeOf(tried).resolves.toEqualTypeOf<CompositeHandle<
      readonly [{ readonly mutex: Mutex }, { readonly write: ReaderWriterLock }]
    > | null>();
    expectTypeOf(await handlesOf(tried)).toEqualTypeOf<readonly [LockHandle, ReaderWriterHandle]>();
  });

  it('are an array of one type, or of a union, if the requests are a list made at run time', async () => {
    const alike = ['a', 'b'].map((name) => ({ mutex: locks.createMutex(name) }));
    const handles = await handlesOf(locks.acquireAll(alike, { signal }));
    expectTypeOf(handles).toEqualTypeOf<readonly LockHandle[]>();
    const mixed: readonly LockRequest[] = [{ mutex }, { semaphore }];
    const any = await handlesOf(locks.acquireAll(mixed, { signal }));
    expectTypeOf(any).toEqualTypeOf<readonly (LockHandle | PermitHandle | ReaderWriterHandle)[]>();
  });

  it('belong to a composite that is a Hold, and have the type of each request', () => {
    expectTypeOf<CompositeHandle<readonly LockRequest[]>>().toExtend<Hold>();
    expectTypeOf<HandleFor<{ semaphore: Semaphore }>>().toEqualTypeOf<PermitHandle>();
    expectTypeOf<HandleFor<{ semaphore: Semaphore; permits: number }>>().toEqualTypeOf<PermitHandle>();
    expectTypeOf<HandleFor<{ read: ReaderWriterLock }>>().toEqualTypeOf<LockHandle>();
  });

  it('cannot be requested without a lock, or with a value of another type', () => {
    expectTypeOf<object>().not.toExtend<LockRequest>();
    expectTypeOf<{ mutex: string }>().not.toExtend<LockRequest>();
    expectTypeOf<{ mutex: ReaderWriterLock }>().not.toExtend<LockRequest>();
    expectTypeOf<{ semaphore: Semaphore; permits: string }>().not.toExtend<LockRequest>();
  });
});
