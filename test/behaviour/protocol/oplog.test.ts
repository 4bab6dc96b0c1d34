import { BSON } from 'mongodb';
import { afterAll, describe, expect, inject, it } from 'vitest';

import type { Operation, Request } from '../../../src/protocol/operation.js';
import { LockDocumentDriver } from '../../model/documents/lock-document-driver.js';
import { MUTEX, READER_WRITER, SEMAPHORE } from '../../model/documents/lock-kinds.js';
import { versionOf } from '../../../src/testing/judge/lock-version.js';
import { cancel, enqueue, exchange, extend, leave, resize } from '../../model/documents/operations.js';

const WAITERS = 500;
const HOLDERS = 100;
const KILOBYTE = 1_024;

const idOf = (index: number): string => `w${index.toString(16).padStart(24, '0')}`;

const words = {
  why: 'a reason of some length',
  label: 'worker',
  process: 'host-name:12345:0123456789abcdef',
};

const mutex = new LockDocumentDriver(inject('mongoUri'), MUTEX.rules);
const readerWriter = new LockDocumentDriver(inject('mongoUri'), READER_WRITER.rules);
const semaphore = new LockDocumentDriver(inject('mongoUri'), SEMAPHORE.rules);

afterAll(() => Promise.all([mutex, readerWriter, semaphore].map((driver) => driver[Symbol.asyncDispose]())));

/** A lock that so many attempts asked for one after the other, each with a reason and a label. */
async function crowded(
  driver: LockDocumentDriver,
  count: number,
  demandOf: (index: number) => Partial<Request>,
): Promise<string> {
  const name = driver.newName();
  const requests = Array.from({ length: count }, (_, index) =>
    enqueue(idOf(index), { ...words, ...demandOf(index) }),
  );
  while (requests.length > 0) await driver.apply(name, requests.splice(0, 100));
  return name;
}

/** The size of the oplog entry of this update, in bytes. */
async function bytesOf(driver: LockDocumentDriver, name: string, operation: Operation): Promise<number> {
  await driver.apply(name, [operation]);
  return lastEntryBytes(driver, name);
}

async function lastEntryBytes(driver: LockDocumentDriver, name: string): Promise<number> {
  const entry = await driver.lastOplogEntry(name);
  if (entry === undefined) throw new Error('nothing was written');
  return BSON.calculateObjectSize(entry);
}

describe.each<readonly [words: string, driver: LockDocumentDriver, demand: Partial<Request>]>([
  ['mutex', mutex, {}],
  ['reader-writer lock, all of them writers,', readerWriter, { mode: 'write' }],
  ['semaphore', semaphore, { permits: 3, limit: 3 }],
])('with 500 waiters for a %s', (_, driver, demand) => {
  it('each of the first 20 hand-overs writes at most 1 KB to the oplog', async () => {
    const name = await crowded(driver, WAITERS + 1, () => demand);
    expect(versionOf(await driver.read(name)).queue).toHaveLength(WAITERS);
    const sizes: number[] = [];
    for (let index = 0; index < 20; index += 1) sizes.push(await bytesOf(driver, name, leave(idOf(index))));
    expect(versionOf(await driver.read(name)).leases).toMatchObject([{ id: idOf(20) }]);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(KILOBYTE);
  });

  it('a cancel in the middle, a new request and the extension of a place write at most 1 KB each', async () => {
    const name = await crowded(driver, WAITERS + 1, () => demand);
    const newcomer = enqueue('wnew', { ...words, ...demand });
    for (const operation of [cancel(idOf(250)), newcomer, extend(idOf(300))]) {
      expect(await bytesOf(driver, name, operation)).toBeLessThanOrEqual(KILOBYTE);
    }
  });
});

describe.each([
  ['readers', readerWriter, { mode: 'read' }],
  ['holders of a semaphore', semaphore, { permits: 1, limit: HOLDERS }],
] as const)('among 100 %s', (_, driver, demand) => {
  it('a release writes at most 1 KB to the oplog, whichever of them leaves', async () => {
    const name = await crowded(driver, HOLDERS, () => demand);
    expect(versionOf(await driver.read(name)).leases).toHaveLength(HOLDERS);
    for (const index of [0, 50, 98, 99, 97, 1]) {
      expect(await bytesOf(driver, name, leave(idOf(index)))).toBeLessThanOrEqual(KILOBYTE);
    }
    expect(versionOf(await driver.read(name)).leases).toHaveLength(HOLDERS - 6);
  });

  it('a grant and an extension, alone or in a batch, write at most 1 KB each', async () => {
    const name = await crowded(driver, HOLDERS - 1, () => demand);
    const newcomer = enqueue('wnew', { ...words, ...demand });
    for (const operation of [newcomer, extend(idOf(50))]) {
      expect(await bytesOf(driver, name, operation)).toBeLessThanOrEqual(KILOBYTE);
    }
    await driver.extend(name, [idOf(70)], 30_000, 0);
    expect(await lastEntryBytes(driver, name)).toBeLessThanOrEqual(KILOBYTE);
  });
});

describe('with 500 waiters for a lock that several hold', () => {
  it('a release that admits one of them writes at most 1 KB to the oplog', async () => {
    const name = await crowded(semaphore, HOLDERS + WAITERS, () => ({ permits: 1, limit: HOLDERS }));
    for (const index of [0, 50, 99]) {
      const released = await bytesOf(semaphore, name, leave(idOf(index)));
      expect(released).toBeLessThanOrEqual(KILOBYTE);
    }
    const { leases, queue } = versionOf(await semaphore.read(name));
    expect([leases.length, queue.length]).toEqual([HOLDERS, WAITERS - 3]);
    expect(await bytesOf(semaphore, name, resize(HOLDERS + 1))).toBeLessThanOrEqual(KILOBYTE);
  });

  it('an upgrade that waits, its cancel, its grant and the downgrade after it write at most 1 KB each', async () => {
    // The first two read, one of them upgradeably; all others are writers and wait.
    const modeOf = (index: number): Partial<Request> => ({
      mode: index === 0 ? 'upgradeable' : index === 1 ? 'read' : 'write',
    });
    const name = await crowded(readerWriter, WAITERS + 2, modeOf);
    const changes = [
      ...[exchange(idOf(0), 1, 'write'), exchange(idOf(0), 2, 'upgradeable'), exchange(idOf(0), 3, 'write')],
      ...[leave(idOf(1)), exchange(idOf(0), 4, 'upgradeable')],
    ];
    for (const change of changes) {
      expect(await bytesOf(readerWriter, name, change)).toBeLessThanOrEqual(KILOBYTE);
    }
    const { leases, queue } = versionOf(await readerWriter.read(name));
    expect([leases[0]?.change, queue.length]).toEqual([4, WAITERS]);
  });
});
