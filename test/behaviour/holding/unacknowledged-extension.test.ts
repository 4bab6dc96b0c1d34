import { expect, it } from 'vitest';

import { after, momentNow } from '../../../src/clock.js';
import { LeaseExtender } from '../../../src/lease/holding/lease-extender.js';
import { Seat } from '../../../src/lease/holding/seat.js';
import type { Observation } from '../../../src/observation.js';
import { mutexRules } from '../../../src/protocol/kinds/mutex-rules.js';
import { Committer } from '../../../src/store/updates/committer.js';
import { ManualClock } from '../../support/manual-clock.js';

const LEASE_MS = 2_000;
const TERMS = { leaseMs: LEASE_MS, extendEveryMs: 667, clockAllowanceMs: 200, retentionMs: 60_000 };
/** The server's clock is so far ahead of the clock of the process. */
const AHEAD_MS = 1_000_000;

/** Extends a seat by an update that waits 500 ms for its majority, and a read that shows this expiry by the clock of the process. */
async function extended(expiresAtMs: (updatedMs: number) => number): Promise<{ leftMs: number }> {
  const clock = new ManualClock();
  const seat = new Seat(
    {
      ...{ name: 'a', rules: mutexRules, id: 'w1', token: 7, durations: TERMS, demand: {} },
      deadline: after(momentNow(clock), 1_800),
    },
    clock,
    { lost: () => undefined, doubtful: () => undefined },
  );
  const updatedAt = momentNow(clock);
  const pass = (ms: number): void => {
    clock.advance(ms);
  };
  const store = {
    isSharded: false,
    boundMs: 1_500,
    unanswered: () => new Error('away'),
    transition: () => Promise.reject(new Error('not sent')),
    updateEach: () => Promise.reject(new Error('not sent')),
    updateMany: () => {
      const sentAt = momentNow(clock);
      pass(500);
      return Promise.resolve({ type: 'done', value: null, sentAt } as const);
    },
    readAfterUpdate: () => {
      const sentAt = momentNow(clock);
      pass(10);
      const now = new Date(clock.nowMs() + AHEAD_MS);
      const lease = {
        ...{ id: 'w1', process: 'p', token: 7, leaseMs: LEASE_MS, acquiredAt: new Date(AHEAD_MS) },
        expiresAt: new Date(expiresAtMs(updatedAt.ms + 5) + AHEAD_MS),
      };
      return Promise.resolve({ type: 'done', value: [{ _id: 'a', now, leases: [lease] }], sentAt } as const);
    },
  };
  const observation = { hearsExtensions: false } as unknown as Observation;
  const extender = new LeaseExtender(new Committer(store, clock), 'p', () => undefined, observation, clock);
  const { confirmations } = await extender.extend(['a'], [seat], 1_000);
  expect(confirmations).toEqual([{ type: 'extended' }]);
  return { leftMs: seat.deadlineMs - updatedAt.ms };
}

it('a hold counts on its extension for the whole lease, less the clock allowance', async () => {
  const { leftMs } = await extended((updatedMs) => updatedMs + LEASE_MS);
  expect(leftMs).toBeGreaterThan(LEASE_MS - TERMS.clockAllowanceMs - 10);
  expect(leftMs).toBeLessThanOrEqual(LEASE_MS - TERMS.clockAllowanceMs);
});

it('a hold does not count on a later extension that the read shows and that no majority has acknowledged', async () => {
  const { leftMs } = await extended((updatedMs) => updatedMs + 495 + LEASE_MS);
  expect(leftMs).toBeLessThanOrEqual(LEASE_MS - TERMS.clockAllowanceMs);
});
