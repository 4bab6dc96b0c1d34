import type { Document } from 'mongodb';
import { describe, expect, it } from 'vitest';

import { VersionJudge } from './oplog-checker.js';
import { LOCK } from './written-history.js';
import { lease, live, member, mutex, over, queue, TS, WALL_MS } from './written-versions.js';

/** The leases of these tests have 30 s, and their judge allows the clocks 50 ms. */
const at = (ms: number): { readonly expiresAt: Date } => ({ expiresAt: new Date(WALL_MS + ms) });
const late = { purgeAt: new Date(WALL_MS + 900_000) };
const long = (more: Document = {}): Document => lease('wa', 1, { ...at(90_000), ...more });

type Pair = readonly [before: Document | null, after: Document];

const right: readonly (readonly [words: string, ...Pair])[] = [
  [
    'an extension by a clock that is ahead by what is tolerated',
    mutex(lease('wa', 1, at(20_000)), late),
    mutex(lease('wa', 1, at(30_050)), late),
  ],
  [
    'the transition in the lease of a leader',
    mutex(null, { fence: 0, ...late }),
    mutex(lease('wa', 1, { leaseMs: 40_000, transitionMs: 10_000, ...at(40_000) }), late),
  ],
  [
    'an expiry that was written before the clock was set back',
    mutex(long(), late),
    mutex(long(), { ...late, queue: queue('wb') }),
  ],
  [
    'the lease of a waiter whose place was extended before the clock was set back',
    mutex(lease('wa', 1), { ...late, queue: { wb: { ...member, ...at(90_000) } } }),
    mutex(lease('wb', 2, { ...at(90_000), acquiredAt: live }), { ...late, wake: ' -wa:1 p:wb:2' }),
  ],
  [
    'an attempt that is granted anew after its lease was over',
    mutex(lease('wa', 1, { expiresAt: over }), late),
    mutex(lease('wa', 2, at(30_000)), late),
  ],
];

const TOO_LONG = 'L1 wa has 30000 ms and counts on 59950 ms more';

const planted: readonly (readonly [words: string, wrong: string, ...Pair])[] = [
  [
    'a lease of an attempt that did not wait and counts on more than its lease',
    TOO_LONG,
    mutex(null, { fence: 0, ...late }),
    mutex(long(), late),
  ],
  ['the same in a new document', TOO_LONG, null, mutex(long(), late)],
  ['an extension by more than a lease', TOO_LONG, mutex(lease('wa', 1), late), mutex(long(), late)],
  [
    'an extension of a lease that was over',
    'S5 wa was over at 2029-12-31T23:59:59.999Z and gets a later expiry',
    mutex(lease('wa', 1, { expiresAt: over }), late),
    mutex(lease('wa', 1, at(30_000)), late),
  ],
];

function found(
  before: Document | null,
  after: Document,
  toleranceMs = 50,
  laterWallMs?: number,
  mayStandStill: (wallMs: number) => boolean = () => false,
): readonly string[] {
  const judge = new VersionJudge({ toleranceMs, mayStandStill });
  judge.take({ ...{ name: LOCK, before, after, term: 4, wallMs: WALL_MS, laterWallMs, ts: TS } });
  return judge.violations.map(
    ({ invariant, what }) => `${invariant} ${what.slice(LOCK.length + 2, what.indexOf(' ('))}`,
  );
}

describe('the version judge', () => {
  for (const [words, ...versions] of right) {
    it(`accepts ${words}`, () => {
      expect(found(...versions)).toEqual([]);
    });
  }

  for (const [words, wrong, ...versions] of planted) {
    it(`finds ${words}`, () => {
      expect(found(...versions)).toEqual([wrong]);
    });
  }

  it('takes a later `wall` of the server as the latest time of an update, but none that is far away', () => {
    const extended = (aheadMs: number, laterMs: number): readonly string[] =>
      found(
        mutex(lease('wa', 1, at(20_000)), late),
        mutex(lease('wa', 1, at(30_000 + aheadMs)), late),
        50,
        WALL_MS + laterMs,
      );
    expect(extended(228, 230)).toEqual([]);
    expect(extended(50, 10)).toEqual([]);
    expect(extended(51, 10)).toEqual(['L1 wa has 30000 ms and counts on 1 ms more']);
    expect(extended(231, 230)).toEqual(['L1 wa has 30000 ms and counts on 1 ms more']);
    expect(extended(501, Infinity)).toEqual(['L1 wa has 30000 ms and counts on 1 ms more']);
  });

  it('takes any later `wall` of a server that may have stood still', () => {
    const extended = (mayStandStill: (wallMs: number) => boolean): readonly string[] =>
      found(
        mutex(lease('wa', 1, at(20_000)), late),
        mutex(lease('wa', 1, at(38_000)), late),
        50,
        WALL_MS + 8_000,
        mayStandStill,
      );
    expect(extended((wallMs) => wallMs === WALL_MS)).toEqual([]);
    expect(extended((wallMs) => wallMs !== WALL_MS)).toEqual([
      'L1 wa has 30000 ms and counts on 7500 ms more',
    ]);
  });

  it('finds the shortest extension of a lease that was over, where clocks are exact', () => {
    const versions = [mutex(lease('wa', 1, { expiresAt: over })), mutex(lease('wa', 1))] as const;
    expect(found(...versions, 0)).toEqual([
      'S5 wa was over at 2029-12-31T23:59:59.999Z and gets a later expiry',
    ]);
  });
});
