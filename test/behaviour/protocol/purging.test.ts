import { afterAll, describe, expect, inject, it } from 'vitest';

import { LockDocumentDriver } from '../../model/documents/lock-document-driver.js';
import type { StoredDocument } from '../../model/documents/lock-document-driver.js';
import { versionOf } from '../../../src/testing/judge/lock-version.js';
import {
  DAY_MS,
  LEASE_MS,
  RETENTION_MS,
  cancel,
  enqueue,
  extend,
  leave,
  tryOnce,
} from '../../model/documents/operations.js';

const driver = new LockDocumentDriver(inject('mongoUri'));

afterAll(() => driver[Symbol.asyncDispose]());

const purgeMs = (stored: StoredDocument | null | undefined): number =>
  (stored?.['purgeAt'] as Date).getTime();

/** Expects `purgeAt` half a day to a day after the time until which the document is needed. */
function expectToCover(stored: StoredDocument | null | undefined, neededMs: number): void {
  expect(purgeMs(stored)).toBeGreaterThanOrEqual(neededMs + DAY_MS / 2);
  expect(purgeMs(stored)).toBeLessThan(neededMs + DAY_MS);
}

/** Longer than any other retention here, so that it raises `purgeAt`. */
const LONG_MS = 40 * DAY_MS;

describe('purgeAt', () => {
  it.each([
    [100, 1],
    [30_000, 7 * DAY_MS],
    [DAY_MS, 30 * DAY_MS],
    [DAY_MS, 30 * DAY_MS + 1],
  ])(
    'covers a lease of %i ms and a retention of %i ms, and at most a day more',
    async (leaseMs, retentionMs) => {
      const name = driver.newName();
      const { stored, nowMs } = await driver.apply(name, [enqueue('w1', { leaseMs, retentionMs })]);
      expectToCover(stored, nowMs + leaseMs + retentionMs);
    },
  );

  it('is not changed by releases and hand-overs, so that its index is rarely written', async () => {
    const name = driver.newName();
    const before = purgeMs((await driver.apply(name, [enqueue('w1'), enqueue('w2')])).stored);
    for (const operation of [cancel('w3'), leave('w1'), leave('w2')]) {
      expect(purgeMs((await driver.apply(name, [operation])).stored)).toBe(before);
    }
  });

  it('is written at most twice a day by requests and extensions', async () => {
    const name = driver.newName();
    const before = await driver.apply(name, [tryOnce('w1')]);
    const hours = purgeMs(before.stored) - (before.nowMs + LEASE_MS + RETENTION_MS);
    expect(hours).toBeGreaterThanOrEqual(DAY_MS / 2);
    for (const operation of [
      leave('w1'),
      tryOnce('w2'),
      extend('w2'),
      leave('w2'),
      enqueue('w3'),
      enqueue('w4'),
    ]) {
      expect(purgeMs((await driver.apply(name, [operation])).stored)).toBe(purgeMs(before.stored));
    }
    const batch = await driver.extend(name, ['w3'], LEASE_MS, RETENTION_MS);
    expect(purgeMs(batch?.stored)).toBe(purgeMs(before.stored));
  });

  it('differs by hours between locks that are used together, so that they are not purged together', async () => {
    const names = Array.from({ length: 200 }, () => driver.newName());
    const spread: number[] = [];
    for (const name of names) {
      const { stored, nowMs } = await driver.apply(name, [tryOnce('w1')]);
      spread.push(purgeMs(stored) - nowMs - LEASE_MS - RETENTION_MS - DAY_MS / 2);
    }
    // Each twelfth of the half day has at least one of the 200; an empty twelfth has a chance of one in three million.
    const hours = new Set(spread.map((ms) => Math.floor(ms / 3_600_000)));
    expect(hours.size).toBe(12);
  });

  it('is never lowered', async () => {
    const name = driver.newName();
    const { stored } = await driver.apply(name, [enqueue('w1', { retentionMs: LONG_MS })]);
    const highest = purgeMs(stored);
    const later = [[], [extend('w1')], [enqueue('w2')], [tryOnce('w3')], [leave('w1')], [cancel('w2')]];
    for (const operations of later) {
      expect(purgeMs((await driver.apply(name, operations)).stored)).toBe(highest);
    }
    expect(purgeMs((await driver.extend(name, ['w2'], LEASE_MS, RETENTION_MS))?.stored)).toBe(highest);
  });

  it('is raised by a request, even one that is repeated or has to wait', async () => {
    const name = driver.newName();
    await driver.apply(name, [enqueue('w1')]);
    for (const [days, operation] of [
      [10, enqueue('w1', { retentionMs: 10 * DAY_MS })],
      [20, enqueue('w2', { retentionMs: 20 * DAY_MS })],
      [30, tryOnce('w1', { retentionMs: 30 * DAY_MS })],
    ] as const) {
      const { stored, nowMs } = await driver.apply(name, [operation]);
      expectToCover(stored, nowMs + LEASE_MS + days * DAY_MS);
    }
  });

  it('is raised by the extension of a lease, alone or in a batch', async () => {
    const name = driver.newName();
    await driver.apply(name, [enqueue('w1')]);
    const extension = { ...extend('w1'), leaseMs: DAY_MS, retentionMs: 10 * DAY_MS };
    const alone = await driver.apply(name, [extension]);
    expectToCover(alone.stored, alone.nowMs + 11 * DAY_MS);
    const batch = await driver.extend(name, ['w1'], DAY_MS, LONG_MS);
    expectToCover(batch?.stored, (batch?.nowMs ?? 0) + DAY_MS + LONG_MS);
  });

  it('covers the longest of several requests in one update', async () => {
    const name = driver.newName();
    const requests = [enqueue('w1'), enqueue('w2', { retentionMs: LONG_MS }), enqueue('w3')];
    const { stored, nowMs } = await driver.apply(name, requests);
    expectToCover(stored, nowMs + LEASE_MS + LONG_MS);
  });

  it('covers a lease that is granted long after its request', async () => {
    const name = driver.newName();
    await driver.apply(name, [enqueue('wh')]);
    await driver.apply(name, [enqueue('w1', { leaseMs: DAY_MS, retentionMs: 2 * DAY_MS })]);
    const { stored } = await driver.apply(name, [leave('wh')]);
    const [lease] = versionOf(stored).leases;
    expect(lease?.id).toBe('w1');
    expect(purgeMs(stored)).toBeGreaterThanOrEqual((lease?.expiresAt.getTime() ?? Infinity) + 2 * DAY_MS);
  });
});
