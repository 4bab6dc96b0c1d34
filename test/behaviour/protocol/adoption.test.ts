import { Long } from 'mongodb';
import { afterAll, describe, expect, inject, it } from 'vitest';

import { mutexRules } from '../../../src/protocol/kinds/mutex-rules.js';
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

/** Stores a document of another kind in the shape of that kind. */
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
  'a semaphore without a holder': () => put('semaphore', { limit: 3, holders: [] }),
  'a semaphore with only expired leases': () =>
    put('semaphore', { limit: 3, holders: [permit(past), permit(past)] }),
  'a semaphore with only a lapsed place': () =>
    put('semaphore', { limit: 3, holders: [] }, { queue: { w8: waiter(past) } }),
  'a reader-writer lock without a holder': () => put('reader-writer', readerWriter([], null)),
  'a reader-writer lock with only expired leases': () =>
    put('reader-writer', readerWriter([read(past)], write(past))),
  'an election without a leader': () => put('election', { holder: null }),
  'an election with an expired leader': () => put('election', { holder: lease(past) }),
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
  'an unknown kind': () => put('turnstile', { holders: [] }),
  'another version': () => put('semaphore', { limit: 3, holders: [] }, { v: 2 }),
  'holders that are no array': () => put('semaphore', { limit: 3, holders: permit(future) }),
  'no field of holders': () => put('semaphore', { limit: 3 }),
  'readers that are no array': () => put('reader-writer', { ...readerWriter([], null), readers: 'one' }),
  'no field of a writer': () => put('reader-writer', { readers: [], writerWaiting: false }),
  'no field of a holder': () => put('election', {}),
  'a lease with an expiry that is no date': () =>
    put('semaphore', { limit: 3, holders: [{ ...permit(past), expiresAt: past.toISOString() }] }),
  'a lease that is no object': () => put('semaphore', { limit: 3, holders: ['w9'] }),
  'a waiter without an expiry': () =>
    put('semaphore', { limit: 3, holders: [] }, { queue: { w8: { process: 'p9' } } }),
  'a fence that is no number': () => put('semaphore', { limit: 3, holders: [] }, { fence: 'x' }),
  'a fence that is a double': () => put('semaphore', { limit: 3, holders: [] }, { fence: 7.5 }),
  'a negative fence': () => put('semaphore', { limit: 3, holders: [] }, { fence: Long.NEG_ONE }),
  'a queue that is an array': () => put('semaphore', { limit: 3, holders: [] }, { queue: [waiter(future)] }),
  'a wake that is no string': () => put('semaphore', { limit: 3, holders: [] }, { wake: null }),
  'a purgeAt that is no date': () => put('semaphore', { limit: 3, holders: [] }, { purgeAt: 'soon' }),
};

describe('a kind takeover', () => {
  it.each(Object.entries(idle))(
    'changes the kind of an idle lock and keeps its fence: %s',
    async (_, make) => {
      const name = await make();
      const { stored } = await driver.apply(name, [enqueue('w1')], { takingOver: true });
      const token = ahead.toNumber() + 1;
      expect(stored).toEqual({
        ...{ _id: name, kind: 'mutex', v: 1, fence: token, queue: {}, wake: '' },
        holder: expect.objectContaining({ id: 'w1', token }) as unknown,
        purgeAt: expect.any(Date) as unknown,
      });
    },
  );

  it.each(Object.entries(idle))('does not happen unless the update asks for it: %s', async (_, make) => {
    const name = await make();
    const before = await driver.image(name);
    const { reply } = await driver.apply(name, [enqueue('w1'), leave('w9'), cancel('w8')]);
    await driver.extend(name, ['w9'], 30_000, 86_400_000, [mutexRules]);
    expect(await driver.image(name)).toBe(before);
    expect(refusalOf(reply, mutexRules, 'enqueue', requestOf('w1'))).toBe('other-kind');
  });

  it.each(Object.entries(live))('never happens to a lock in use: %s', async (_, make) => {
    const name = await make();
    const before = await driver.image(name);
    for (const [type, request] of [
      ['enqueue', enqueue('w1')],
      ['try', tryOnce('w1')],
    ] as const) {
      const { reply } = await driver.apply(name, [request], { takingOver: true });
      expect(refusalOf(reply, mutexRules, type, requestOf('w1'))).toBe('other-kind');
    }
    expect(await driver.image(name)).toBe(before);
  });

  it.each(Object.entries(corrupt))('never happens to a corrupt document: %s', async (_, make) => {
    const name = await make();
    const before = await driver.image(name);
    for (const operations of [[enqueue('w1')], [tryOnce('w1')], [leave('w9')], []]) {
      await driver.apply(name, operations, { takingOver: true });
    }
    expect(await driver.image(name)).toBe(before);
  });

  it('does not empty a lock that has the kind already', async () => {
    const name = driver.newName();
    await driver.apply(name, [enqueue('w1')]);
    const { stored } = await driver.apply(name, [enqueue('w2')], { takingOver: true });
    expect(stored).toMatchObject({ holder: { id: 'w1' }, queue: { w2: { process: 'p0' } } });
  });
});
