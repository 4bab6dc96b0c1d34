import { describe, expect, it } from 'vitest';

import type { Lease } from '../../src/protocol/lock-document.js';
import type { Operation } from '../../src/protocol/operation.js';
import { judge } from './invariants.js';
import { lease, nowMs, update, version, waiting } from './judged-updates.js';
import type { Case, Queue } from './judged-updates.js';
import type { Version } from '../../src/testing/judge/lock-version.js';
import { enqueue, leave, resize } from '../model/documents/operations.js';

const toLimit = (limit: number): Operation => resize(limit, new Date(nowMs));

const permits = (id: string, token: number, count: number): Lease => lease(id, token, { permits: count });
const limited = (limit: number, leases: readonly Lease[], queue: Queue = []): Version =>
  version(leases, queue, { kind: 'semaphore', limit });

const two = waiting('b', { permits: 2 });
const one = waiting('c', { permits: 1 });
const counted = limited(3, [permits('a', 7, 2)], [two, one]);

describe('the judge of a semaphore', () => {
  it('accepts weighted permits, and a limit that falls below the permits that are held', () => {
    expect(judge(update(counted, limited(3, [permits('b', 8, 2), permits('c', 9, 1)]), leave('a')), 7)).toBe(
      9,
    );
    expect(judge(update(counted, limited(1, counted.leases, [one]), toLimit(1)), 7)).toBe(7);
    const keeping = limited(
      3,
      [permits('a', 7, 2)],
      [waiting('b', { permits: 2, keeps: 9 }), waiting('c', { permits: 1, keeps: 1 })],
    );
    const kept = [lease('b', 8, { permits: 2, keeps: 9 }), lease('c', 18, { permits: 1, keeps: 1 })];
    expect(judge(update(keeping, { ...limited(3, kept), fence: 27 }, leave('a')), 7)).toBe(27);
    const raised = limited(5, [...counted.leases, permits('b', 8, 2), permits('c', 9, 1)]);
    expect(judge(update(counted, raised, toLimit(5)), 7)).toBe(9);
  });

  it.each<Case>([
    [
      'more permits are given than the limit',
      update(counted, limited(3, [...counted.leases, permits('b', 8, 2)], [one])),
      /^S1/,
    ],
    ['a lease has no permit', update(counted, limited(3, [permits('b', 8, 0)], [one]), leave('a')), /^S1/],
    ['a lower limit takes a permit away', update(counted, limited(1, [], [one]), toLimit(1)), /^S5/],
    [
      'a grant has another number of permits than the place had',
      update(counted, limited(3, [permits('b', 8, 1), permits('c', 9, 1)]), leave('a')),
      /^S5/,
    ],
    ['the limit changes by itself', update(counted, limited(4, counted.leases, [two, one])), /^S5/],
    [
      'a late resize takes effect',
      update(counted, limited(1, counted.leases, [one]), resize(1, new Date(nowMs - 1))),
      /^S5/,
    ],
    [
      'a request changes the limit of a semaphore in use',
      update(counted, limited(2, counted.leases, [two, one]), enqueue('x', { mustMatch: true, limit: 2 })),
      /^S5/,
    ],
    [
      'a small request passes a large one',
      update(counted, limited(3, [...counted.leases, permits('c', 8, 1)], [two])),
      /^L3/,
    ],
    [
      'two leases reserve the same tokens',
      update(
        counted,
        {
          ...limited(3, [lease('b', 8, { permits: 2, keeps: 9 }), lease('c', 17, { permits: 1, keeps: 9 })]),
          fence: 26,
        },
        leave('a'),
      ),
      /^S3: two have/,
    ],
    [
      'the head of the queue fits in and waits',
      update(counted, limited(3, [], [two, one]), leave('a')),
      /^L2/,
    ],
    [
      'an attempt waits for more permits than the limit',
      update(counted, limited(1, counted.leases, [two, one]), toLimit(1)),
      /^L1/,
    ],
  ])('objects when %s', (_, wrong, invariant) => {
    expect(() => judge(wrong, 7)).toThrow(invariant);
  });
});
