import { describe, expect, it } from 'vitest';

import type { Operation } from '../../src/protocol/operation.js';
import { judge } from './invariants.js';
import { lease, nowMs, over, update, version, waiting } from './judged-updates.js';
import type { Case } from './judged-updates.js';
import { enqueue, leave, tryOnce } from '../model/documents/operations.js';

const held = version([lease('a', 7)], [waiting('b'), waiting('c')]);

describe('the judge of updates', () => {
  it('accepts a hand-over, an extension, an expired lease and a newcomer', () => {
    const handedOver = version([lease('b', 8)], [waiting('c')]);
    const { expiresAt } = lease('a', 7, { expiresAt: new Date(nowMs + 30_000) });
    const extended = version([lease('a', 7, { expiresAt })], held.queue);
    const dead = version([lease('a', 7, over)], [waiting('b', over), waiting('c')]);
    const extend: Operation = { type: 'extend', ids: ['a'], leaseMs: 30_000, retentionMs: 0, nonce: '1' };
    expect(judge(update(held, handedOver, leave('a')), 7)).toBe(8);
    expect(judge(update(held, extended, extend), 7)).toBe(7);
    expect(judge(update(dead, version([lease('c', 9)])), 8)).toBe(9);
    const longer = version([lease('a', 7)], [...held.queue, waiting('d')]);
    expect(judge(update(held, longer, enqueue('d')), 7)).toBe(7);
  });

  it.each<Case>([
    ['a mutex has two holders', update(held, version([lease('a', 7), lease('b', 8)], [waiting('c')])), /^S1/],
    ['an attempt holds and waits', update(held, version([lease('b', 8)], held.queue), leave('a')), /^S1/],
    ['a token is given twice', update(held, version([lease('b', 7)], [waiting('c')]), leave('a')), /^S3/],
    ['a token falls', update(held, version([lease('b', 6)], [waiting('c')]), leave('a')), /^S3/],
    [
      'the fence is not the last token',
      update(held, version([lease('b', 8)], [waiting('c')], { fence: 9 }), leave('a')),
      /^S3/,
    ],
    [
      'the fence falls',
      update(held, version([], [], { fence: 3 }), leave('a'), leave('b'), leave('c')),
      /^S3/,
    ],
    [
      'a token is not an exact number',
      update(held, version([lease('b', 2 ** 53)], [waiting('c')]), leave('a')),
      /^S3/,
    ],
    [
      'a token is given that another lease has reserved',
      update(
        version([lease('a', 7, { keeps: 9 })], held.queue, { fence: 16 }),
        version([lease('b', 16)], [waiting('c')], { fence: 16 }),
        leave('a'),
      ),
      /^S3/,
    ],
    [
      'the fence is below a reserved token',
      update(held, version([lease('b', 8, { keeps: 9 })], [waiting('c')], { fence: 8 }), leave('a')),
      /^S3/,
    ],
    [
      'the fence skips more tokens than are reserved',
      update(held, version([lease('b', 8, { keeps: 9 })], [waiting('c')], { fence: 27 }), leave('a')),
      /^S3/,
    ],
    [
      'a lease reserves more tokens than before',
      update(held, version([lease('a', 7, { keeps: 9 })], held.queue)),
      /^S5/,
    ],
    [
      'an operation of another attempt removes a lease',
      update(held, version([lease('b', 8)], [waiting('c')]), leave('x')),
      /^S5/,
    ],
    [
      'an operation of another attempt removes a place',
      update(held, version([lease('a', 7)], [waiting('c')]), leave('x')),
      /^S5/,
    ],
    [
      'a lease becomes longer without an extension',
      update(held, version([lease('a', 7, { expiresAt: new Date(nowMs + 9_000) })], held.queue), leave('x')),
      /^S5/,
    ],
    [
      'a grant is longer than the place was',
      update(
        held,
        version([lease('b', 8, { expiresAt: new Date(nowMs + 9_000) })], [waiting('c')]),
        leave('a'),
      ),
      /^S5/,
    ],
    [
      'the second waiter is granted first',
      update(held, version([lease('c', 8)], [waiting('b')]), leave('a')),
      /^L3/,
    ],
    [
      'a newcomer is granted first',
      update(held, version([lease('x', 8)], [waiting('b'), waiting('c')]), leave('a')),
      /^L3/,
    ],
    [
      'two waiters change places',
      update(held, version([lease('a', 7)], [waiting('c'), waiting('b')])),
      /^L3/,
    ],
    [
      'a newcomer is not at the end of the queue',
      update(held, version([lease('a', 7)], [waiting('b'), waiting('x'), waiting('c')])),
      /^L3/,
    ],
    [
      'the second of two newcomers is granted first',
      update(version([]), version([lease('y', 8)], [waiting('x')]), enqueue('x'), enqueue('y')),
      /^L3/,
    ],
    [
      'a try is queued',
      update(held, version([lease('a', 7)], [...held.queue, waiting('d')]), tryOnce('d')),
      /^L3/,
    ],
    ['a seat stays free while attempts wait', update(held, version([], held.queue), leave('a')), /^L2/],
  ])('objects when %s', (_, wrong, invariant) => {
    expect(() => judge(wrong, 7)).toThrow(invariant);
  });
});
