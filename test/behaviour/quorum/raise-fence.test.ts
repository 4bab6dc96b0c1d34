import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';

import { readerWriterRules } from '../../../src/protocol/kinds/reader-writer-rules.js';
import { after, momentNow } from '../../../src/clock.js';
import { StoreUnavailableError } from '../../../src/index.js';
import type { LeaseContext } from '../../../src/lease/acquiring/lease-context.js';
import { Hold } from '../../../src/lease/holding/hold.js';
import type { HandleHolds } from '../../../src/lease/holding/lease-handle.js';
import { Seat } from '../../../src/lease/holding/seat.js';
import { mutexRules } from '../../../src/protocol/kinds/mutex-rules.js';
import { SeatHandle } from '../../../src/quorum/seat-handle.js';
import { LockDocumentDriver } from '../../model/documents/lock-document-driver.js';
import { ManualClock } from '../../support/manual-clock.js';
import { enqueue, leave, raiseFence } from '../../model/documents/operations.js';
import { later, rejection, settled } from '../../../lab/patience.js';

describe.each([mutexRules, readerWriterRules])('lifting the fence of a $kind', (rules) => {
  let driver: LockDocumentDriver;
  beforeAll(() => {
    driver = new LockDocumentDriver(inject('mongoUri'), rules);
  });
  afterAll(async () => {
    await driver[Symbol.asyncDispose]();
  });

  it('makes every later token higher, and extends nothing', async () => {
    const name = driver.newName();
    const { reply } = await driver.apply(name, [enqueue('wa')]);
    const [lease] = reply.leases;
    const token = reply.fence + 5_000_000_000;
    const lifted = await driver.apply(name, [raiseFence('wa', token)]);
    expect(lifted.reply.fence).toBe(token);
    expect(lifted.reply.leases).toEqual([lease]);
    expect(lifted.stored['wake']).toBe(' ~7f');
    const next = await driver.apply(name, [leave('wa'), enqueue('wb')]);
    expect(next.reply.leases.map((granted) => granted.token)).toEqual([token + 1]);
  });

  it('never lowers the fence', async () => {
    const name = driver.newName();
    const { reply } = await driver.apply(name, [enqueue('wa')]);
    const lifted = await driver.apply(name, [raiseFence('wa', 7)]);
    expect(lifted.reply.fence).toBe(reply.fence);
  });

  it('has no effect for a waiter, a former holder, an unknown attempt or a missing document', async () => {
    const name = driver.newName();
    const { reply } = await driver.apply(name, [enqueue('wa'), enqueue('wb')]);
    const { fence } = reply;
    for (const id of ['wb', 'wc']) {
      const answer = await driver.apply(name, [raiseFence(id, fence + 1_000)]);
      expect(answer.reply.fence).toBe(fence);
    }
    await driver.lapse(name, ['wa']);
    const late = await driver.apply(name, [raiseFence('wa', fence + 10_000_000_000)]);
    expect(late.reply.fence).toBeLessThan(fence + 10_000_000_000);
    expect(await driver.send(driver.newName(), [raiseFence('wa', fence)])).toBeNull();
  });

  it('leaves a corrupt document untouched', async () => {
    const name = driver.newName();
    await driver.put({ _id: name, kind: rules.kind, v: 1, fence: 'none', holder: { id: 'wa' } });
    const before = await driver.image(name);
    await driver.apply(name, [raiseFence('wa', 1)]);
    expect(await driver.image(name)).toBe(before);
  });
});

describe('a lifting that the store does not answer', () => {
  it('fails within storeTimeoutMs after any number of repeats, and is not repeated after that', async () => {
    const clock = new ManualClock();
    let submits = 0;
    // The first submission fails just before the timeout, the next one is never answered.
    const answers = [
      new Promise((resolve) =>
        clock.at(clock.nowMs() + 900, () => {
          resolve({ type: 'unknown', error: new Error('gone') });
        }),
      ),
    ];
    const combiner = {
      submit: () => ({ outcome: answers[submits++] ?? new Promise(() => undefined) }),
    };
    const context = {
      clock,
      combiner,
      settings: { storeTimeoutMs: 1_000 },
      closing: new AbortController().signal,
    };
    const durations = { leaseMs: 60_000, clockAllowanceMs: 1_000, extendEveryMs: 20_000, retentionMs: 1 };
    const deadline = after(momentNow(clock), 59_000);
    const grant = { name: 'm', rules: mutexRules, id: 'w1', token: 1, durations, demand: {}, deadline };
    const leased = new Seat(grant, clock, { lost: () => undefined, doubtful: () => undefined });
    const owner = { track: () => undefined } as unknown as HandleHolds;
    const seat = new SeatHandle(new Hold(leased), owner, context as unknown as LeaseContext, 0);
    const lifting = later(seat.raiseFence(9));
    for (let passedMs = 0; passedMs < 1_000; passedMs += 100) {
      clock.advance(100);
      await settled();
    }
    expect(await rejection(lifting)).toBeInstanceOf(StoreUnavailableError);
    expect(submits).toBe(2);
  });
});
