import { afterAll, describe, expect, inject, it } from 'vitest';

import { LockDocumentDriver } from '../support/lock-document-driver.js';
import type { StoredDocument } from '../support/lock-document-driver.js';
import { versionOf } from '../support/lock-version.js';
import {
  DAY_MS,
  LEASE_MS,
  RETENTION_MS,
  cancel,
  enqueue,
  extend,
  leave,
  tryOnce,
} from '../support/operations.js';

const driver = new LockDocumentDriver(inject('mongoUri'));

afterAll(() => driver[Symbol.asyncDispose]());

const purgeMs = (stored: StoredDocument | null | undefined): number =>
  (stored?.['purgeAt'] as Date).getTime();

const dayFrom = (ms: number): number => Math.ceil(ms / DAY_MS) * DAY_MS;

/** Longer than any other here, so that it raises whatever it should raise. */
const LONG_MS = 40 * DAY_MS;

describe('purgeAt', () => {
  it.each([
    [100, 1],
    [30_000, 7 * DAY_MS],
    [DAY_MS, 30 * DAY_MS],
    [DAY_MS, 30 * DAY_MS + 1],
  ])('is the end of the day of a lease of %i ms and a retention of %i ms', async (leaseMs, retentionMs) => {
    const name = driver.newName();
    const { stored, nowMs } = await driver.apply(name, [enqueue('w1', { leaseMs, retentionMs })]);
    expect(purgeMs(stored)).toBe(dayFrom(nowMs + leaseMs + retentionMs));
  });

  it('is left alone by releases and hand-offs, so that its index is rarely touched', async () => {
    const name = driver.newName();
    const before = purgeMs((await driver.apply(name, [enqueue('w1'), enqueue('w2')])).stored);
    for (const operation of [cancel('w3'), leave('w1'), leave('w2')]) {
      expect(purgeMs((await driver.apply(name, [operation])).stored)).toBe(before);
    }
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

  it('is raised by a request, also one that only repeats or waits', async () => {
    const name = driver.newName();
    await driver.apply(name, [enqueue('w1')]);
    for (const [days, operation] of [
      [10, enqueue('w1', { retentionMs: 10 * DAY_MS })],
      [20, enqueue('w2', { retentionMs: 20 * DAY_MS })],
      [30, tryOnce('w1', { retentionMs: 30 * DAY_MS })],
    ] as const) {
      const { stored, nowMs } = await driver.apply(name, [operation]);
      expect(purgeMs(stored)).toBe(dayFrom(nowMs + LEASE_MS + days * DAY_MS));
    }
  });

  it('is raised by whoever extends a place or a lease, alone or in a batch', async () => {
    const name = driver.newName();
    await driver.apply(name, [enqueue('w1')]);
    const extension = { ...extend('w1'), leaseMs: DAY_MS, retentionMs: 10 * DAY_MS };
    const alone = await driver.apply(name, [extension]);
    expect(purgeMs(alone.stored)).toBe(dayFrom(alone.nowMs + 11 * DAY_MS));
    const batch = await driver.extend(name, ['w1'], DAY_MS, LONG_MS);
    expect(purgeMs(batch?.stored)).toBe(dayFrom((batch?.nowMs ?? 0) + DAY_MS + LONG_MS));
  });

  it('covers the longest of several requests in one update', async () => {
    const name = driver.newName();
    const requests = [enqueue('w1'), enqueue('w2', { retentionMs: LONG_MS }), enqueue('w3')];
    const { stored, nowMs } = await driver.apply(name, requests);
    expect(purgeMs(stored)).toBe(dayFrom(nowMs + LEASE_MS + LONG_MS));
  });

  it('covers a lease that was given long after its request', async () => {
    const name = driver.newName();
    await driver.apply(name, [enqueue('wh')]);
    await driver.apply(name, [enqueue('w1', { leaseMs: DAY_MS, retentionMs: 2 * DAY_MS })]);
    const { stored } = await driver.apply(name, [leave('wh')]);
    const [lease] = versionOf(stored).leases;
    expect(lease?.id).toBe('w1');
    expect(purgeMs(stored)).toBeGreaterThanOrEqual((lease?.expiresAt.getTime() ?? Infinity) + 2 * DAY_MS);
  });
});
