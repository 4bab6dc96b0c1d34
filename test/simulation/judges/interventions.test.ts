import type { Document } from 'mongodb';
import { describe, expect, it } from 'vitest';

import type { Interventions } from '../../faults/history.js';
import { at } from '../../judge/written-history.js';
import { lease, mutex, semaphore } from '../../judge/written-versions.js';
import { interventionsIn } from './interventions.js';
import { changesIn, date, when } from './written-evidence.js';
import type { Written } from './written-evidence.js';

const LOCK = 'lock';

const held = (more: Document = {}): Document => lease('w1', 1, { expiresAt: date(9_000), ...more });

const permits = (count: number, id = 'w1', token = 1): Document =>
  lease(id, token, { permits: count, expiresAt: date(9_000) });

const found = (versions: Written): Interventions => interventionsIn(changesIn(LOCK, versions), when);

/** What an update at 110 ms makes of a hold. */
const evictions = (before: Document, after: Document): readonly string[] =>
  found([
    [0, before],
    [110, after],
  ]).evictions.map(({ id, firstToken, lastToken, atNs }) => {
    const ms = (Number(atNs) - Number(at(0))) / 1e6;
    return `${id} ${firstToken}-${lastToken} at ${String(Math.round(ms))}`;
  });

const told = { wake: ' p:w1:0', fence: 1 };

describe('an eviction', () => {
  it.each<[string, Document, Document, readonly string[]]>([
    ['empties a seat and tells its process', mutex(held()), mutex(null, told), ['w1 1-1 at 110']],
    [
      'ends the tokens that a kept seat has reserved',
      mutex(held({ keeps: 4 })),
      mutex(null, told),
      ['w1 1-5 at 110'],
    ],
    [
      'is of the grant, also after a change of mode',
      mutex(held({ firstToken: 1, token: 3 })),
      mutex(null, told),
      ['w1 1-1 at 110'],
    ],
    [
      'may give the seat to the next one',
      mutex(held()),
      mutex(lease('w2', 2), { ...told, fence: 2 }),
      ['w1 1-1 at 110'],
    ],
    ['is no release', mutex(held()), mutex(null, { wake: ' -w1:1' }), []],
    [
      'is no release of a hold that was asked to release before, in one update',
      mutex(held()),
      mutex(null, { wake: ' p:w1:0 -w1:1' }),
      [],
    ],
    [
      'goes before a release that comes too late, in one update',
      mutex(held()),
      mutex(null, { wake: ' p:w1:0 -w1:0' }),
      ['w1 1-1 at 110'],
    ],
    ['is no mark', mutex(held()), mutex(held({ ending: true }), told), []],
    ['is no end of a lease', mutex(held({ expiresAt: date(100) })), mutex(null, told), []],
    ['is none of a process that is not told', mutex(held()), mutex(null, { wake: ' q:w1:0' }), []],
  ])('%s', (_, before, after, expected) => {
    expect(evictions(before, after)).toEqual(expected);
  });
});

describe('the limit at a grant', () => {
  const limits = (before: Document | null, after: Document): readonly string[] =>
    found(
      before === null
        ? [[110, after]]
        : [
            [0, before],
            [110, after],
          ],
    )
      .grantLimits.filter(({ id }) => id === 'w2')
      .map(({ limit }) => `w2 of ${limit}`);
  const second = (count: number): Document => permits(count, 'w2', 2);

  it.each<[string, Document | null, Document, readonly string[]]>([
    ['is the stored one', semaphore(3, []), semaphore(3, [second(1)]), ['w2 of 3']],
    ['is that of a new document', null, semaphore(2, [second(1)]), ['w2 of 2']],
    [
      'is the lower one of two if the permits fit into it',
      semaphore(3, [permits(1)]),
      semaphore(2, [permits(1), second(1)]),
      ['w2 of 2'],
    ],
    [
      'is the earlier one if the update has lowered it below the permits',
      semaphore(3, [permits(1)]),
      semaphore(2, [permits(1), second(2)]),
      ['w2 of 3'],
    ],
    [
      'is the later one if the permits need that',
      semaphore(2, [permits(1)]),
      semaphore(3, [permits(1), second(2)]),
      ['w2 of 3'],
    ],
    [
      'is that of the grant, whatever becomes of the limit',
      semaphore(3, [second(2)]),
      semaphore(1, [second(2)]),
      ['w2 of 3'],
    ],
  ])('%s', (_, before, after, expected) => {
    expect(limits(before, after)).toEqual(expected);
  });
});

describe('the stored limits', () => {
  it('have the times in which each of them was stored', () => {
    const { limits } = found([
      [0, semaphore(3, [])],
      [50, semaphore(3, [permits(1)])],
      [100, semaphore(1, [permits(1)])],
    ]);
    const ms = (ns: string): number => Math.round((Number(ns) - Number(at(0))) / 1e6) + 0;
    expect(limits.map(({ limit, fromNs }) => [limit, ms(fromNs)])).toEqual([
      [3, 0],
      [1, 100],
    ]);
    expect(ms(limits[0]?.untilNs ?? '')).toBe(101);
    expect(found([[0, mutex(null)]]).limits).toEqual([]);
  });
});
