import { Long } from 'mongodb';
import { afterAll, describe, expect, inject, it } from 'vitest';

import { mutexSeats } from '../../../src/protocol/kinds/mutex-seats.js';
import { refusalOf } from '../../../src/protocol/replies/reply.js';
import { LockDocumentDriver } from '../../model/documents/lock-document-driver.js';
import type { StoredDocument } from '../../model/documents/lock-document-driver.js';
import { cancel, enqueue, leave, requestOf, tryOnce } from '../../model/documents/operations.js';

const driver = new LockDocumentDriver(inject('mongoUri'));

afterAll(() => driver[Symbol.asyncDispose]());

type Fields = Readonly<Record<string, unknown>>;

const past = new Date(Date.now() - 60_000);
const future = new Date(Date.now() + 3_600_000);
const ahead = Long.fromNumber((Date.now() + 3_600_000) * 1_000);

const lease = (expiresAt: Date, own: Fields = {}): Fields => ({
  ...{ id: 'w9', process: 'p9', token: Long.fromNumber(7), leaseMs: 30_000 },
  ...{ acquiredAt: past, expiresAt, ...own },
});
const permit = (expiresAt: Date): Fields => lease(expiresAt, { permits: 1 });
const read = (expiresAt: Date): Fields => lease(expiresAt, { mode: 'read' });
const write = (expiresAt: Date): Fields => lease(expiresAt, { mode: 'write' });
const waiter = (expiresAt: Date): Fields => ({ process: 'p9', leaseMs: 30_000, since: past, expiresAt });

/** A document of another kind, as that kind stores it. */
async function put(kind: string, seats: Fields, others: Fields = {}): Promise<string> {
  const name = driver.newName();
  const common = { _id: name, kind, v: 1, fence: ahead, queue: {}, wake: ' p9:w9:7', purgeAt: future };
  const document: StoredDocument = { ...common, ...seats, ...others };
  await driver.put(document);
  return name;
}

const readerWriter = (readers: readonly Fields[], writer: Fields | null): Fields => ({
  readers,
  writer,
  writerWaiting: false,
});

const idle: Readonly<Record<string, () => Promise<string>>> = {
  'a semaphore nobody holds': () => put('semaphore', { limit: 3, holders: [] }),
  'a semaphore whose holders are dead': () =>
    put('semaphore', { limit: 3, holders: [permit(past), permit(past)] }),
  'a semaphore whose waiters are dead': () =>
    put('semaphore', { limit: 3, holders: [] }, { queue: { w8: waiter(past) } }),
  'a reader-writer lock nobody holds': () => put('reader-writer', readerWriter([], null)),
  'a reader-writer lock whose readers and writer are dead': () =>
    put('reader-writer', readerWriter([read(past)], write(past))),
  'an election without a leader': () => put('election', { holder: null }),
  'an election whose leader is dead': () => put('election', { holder: lease(past) }),
};

const live: Readonly<Record<string, () => Promise<string>>> = {
  'a semaphore with one live holder': () =>
    put('semaphore', { limit: 3, holders: [permit(past), permit(future)] }),
  'a semaphore with a live waiter': () =>
    put('semaphore', { limit: 3, holders: [] }, { queue: { w7: waiter(past), w8: waiter(future) } }),
  'a reader-writer lock with a live reader': () =>
    put('reader-writer', readerWriter([read(past), read(future)], null)),
  'a reader-writer lock with a live writer': () => put('reader-writer', readerWriter([], write(future))),
  'an election with a live leader': () => put('election', { holder: lease(future) }),
};

const corrupt: Readonly<Record<string, () => Promise<string>>> = {
  'of an unknown kind': () => put('turnstile', { holders: [] }),
  'of another version': () => put('semaphore', { limit: 3, holders: [] }, { v: 2 }),
  'whose holders are no array': () => put('semaphore', { limit: 3, holders: permit(future) }),
  'whose holders are missing': () => put('semaphore', { limit: 3 }),
  'whose readers are no array': () => put('reader-writer', { ...readerWriter([], null), readers: 'one' }),
  'whose writer is missing': () => put('reader-writer', { readers: [], writerWaiting: false }),
  'whose holder is missing': () => put('election', {}),
  'with a lease whose expiry is no date': () =>
    put('semaphore', { limit: 3, holders: [{ ...permit(past), expiresAt: past.toISOString() }] }),
  'with a lease that is none': () => put('semaphore', { limit: 3, holders: ['w9'] }),
  'with a waiter without an expiry': () =>
    put('semaphore', { limit: 3, holders: [] }, { queue: { w8: { process: 'p9' } } }),
  'whose fence is no number': () => put('semaphore', { limit: 3, holders: [] }, { fence: 'x' }),
  'whose fence is a double': () => put('semaphore', { limit: 3, holders: [] }, { fence: 7.5 }),
  'whose fence is negative': () => put('semaphore', { limit: 3, holders: [] }, { fence: Long.NEG_ONE }),
  'whose queue is an array': () => put('semaphore', { limit: 3, holders: [] }, { queue: [waiter(future)] }),
  'whose wake is no string': () => put('semaphore', { limit: 3, holders: [] }, { wake: null }),
  'whose purgeAt is no date': () => put('semaphore', { limit: 3, holders: [] }, { purgeAt: 'soon' }),
};

describe('a document of another kind', () => {
  it.each(Object.entries(idle))('is adopted if it is idle, keeping its fence: %s', async (_, make) => {
    const name = await make();
    const { stored } = await driver.apply(name, [enqueue('w1')], { takingOver: true });
    const token = ahead.toNumber() + 1;
    expect(stored).toEqual({
      ...{ _id: name, kind: 'mutex', v: 1, fence: token, queue: {}, wake: '' },
      holder: expect.objectContaining({ id: 'w1', token }) as unknown,
      purgeAt: expect.any(Date) as unknown,
    });
  });

  it.each(Object.entries(idle))('is left alone by whoever does not ask for it: %s', async (_, make) => {
    const name = await make();
    const before = await driver.image(name);
    const { reply } = await driver.apply(name, [enqueue('w1'), leave('w9'), cancel('w8')]);
    await driver.extend(name, ['w9'], 30_000, 86_400_000, [mutexSeats]);
    expect(await driver.image(name)).toBe(before);
    expect(refusalOf(reply, mutexSeats, 'enqueue', requestOf('w1'))).toBe('other-kind');
  });

  it.each(Object.entries(live))('is never adopted while it is in use: %s', async (_, make) => {
    const name = await make();
    const before = await driver.image(name);
    for (const [type, request] of [
      ['enqueue', enqueue('w1')],
      ['try', tryOnce('w1')],
    ] as const) {
      const { reply } = await driver.apply(name, [request], { takingOver: true });
      expect(refusalOf(reply, mutexSeats, type, requestOf('w1'))).toBe('other-kind');
    }
    expect(await driver.image(name)).toBe(before);
  });

  it.each(Object.entries(corrupt))('is never adopted when it is corrupt: %s', async (_, make) => {
    const name = await make();
    const before = await driver.image(name);
    for (const operations of [[enqueue('w1')], [tryOnce('w1')], [leave('w9')], []]) {
      await driver.apply(name, operations, { takingOver: true });
    }
    expect(await driver.image(name)).toBe(before);
  });

  it('is not adopted by an update that finds a lock of its own kind', async () => {
    const name = driver.newName();
    await driver.apply(name, [enqueue('w1')]);
    const { stored } = await driver.apply(name, [enqueue('w2')], { takingOver: true });
    expect(stored).toMatchObject({ holder: { id: 'w1' }, queue: { w2: { process: 'p0' } } });
  });
});
