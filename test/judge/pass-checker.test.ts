import { Timestamp } from 'mongodb';
import { describe, expect, it } from 'vitest';

import type { Grant } from './oplog-checker.js';
import { PassChecker } from './pass-checker.js';
import type { SlowTimes } from './slow-times.js';
import { LOCK, at, held, history, MUTEX } from './written-history.js';
import type { Lines } from './written-history.js';
import { lease, mutex, othersQueue, queue } from './written-versions.js';
import type { Versions } from './written-versions.js';

/** The oplog's clock and that of the workers begin together. */
const aheadMs = -Number(at(0)) / 1e6;
const PROMPT_MS = 100;

const kept = lease('w8', 8, { keeps: 9 });
const grant: Grant = { lock: LOCK, id: 'w8', token: 8, keeps: 9, term: 1, wallMs: 0 };

/** The holds with these tokens of the lease `w8`, one every 100 ms, which begin at this time. */
const holdsOf = (tokens: readonly number[], fromMs: number, passes: number): Lines =>
  tokens
    .flatMap((token, index) => held(MUTEX, token, fromMs + 100 * index, fromMs + 100 * index + 50))
    .map(([ms, line]) => {
      if (line.type === 'granted') return [ms, { ...line, id: 'w8' }] as const;
      return line.type === 'asked' ? ([ms, { ...line, passes }] as const) : ([ms, line] as const);
    });

/** The versions are a second apart, from 0 on. */
function found(versions: Versions, lines: Lines, slowMs: SlowTimes = () => 0): readonly string[] {
  const checker = new PassChecker();
  for (const [index, after] of versions.entries()) {
    const ts = new Timestamp({ t: 1, i: index });
    const before = versions[index - 1] ?? null;
    checker.take({ name: LOCK, before, after, term: 1, wallMs: index * 1_000, ts });
  }
  const promptness = { aheadMs, promptMs: PROMPT_MS, slowMs };
  const violations = [...checker.judge(history([[], lines]), [grant], promptness)];
  return violations.map(({ invariant, what }) => `${invariant} ${what}`);
}

const alone = mutex(kept);
const behind = mutex(kept, { queue: othersQueue('wb') });
const ownBehind = mutex(kept, { queue: queue('wb') });
const gone = mutex(null, { fence: 17 });

describe('the checker of passes', () => {
  it('accepts passes while nobody waits, or only a caller of the same process', () => {
    expect(found([alone, alone, gone], holdsOf([8, 9, 10, 11], 200, 0))).toEqual([]);
    expect(found([alone, ownBehind, gone], holdsOf([8, 9, 10, 11], 1_200, 0))).toEqual([]);
  });

  it('accepts as many passes as the process is allowed, and those that begin before it can have heard', () => {
    expect(found([alone, behind, gone], holdsOf([8, 9, 10], 1_200, 2))).toEqual([]);
    expect(found([alone, behind, gone], holdsOf([8, 9], 990, 0))).toEqual([]);
  });

  it('excuses a pass by the starvation of its worker, and of no other', () => {
    const passes = (starved: number): readonly string[] =>
      found([alone, behind, gone], holdsOf([8, 9], 1_200, 0), (fromMs, untilMs, worker) =>
        worker === starved ? untilMs - fromMs : 0,
      );
    expect(passes(1)).toEqual([]);
    expect(passes(0)).toHaveLength(1);
  });

  it('finds a pass beyond those, once for each waiter', () => {
    expect(found([alone, behind, gone], holdsOf([8, 9, 10, 11, 12], 1_200, 2))).toEqual([
      expect.stringMatching(/^L3 lock: worker 1, ask 11 is pass 3 while wb waits, for 500 ms; 2 are allowed/),
    ]);
    expect(found([alone, behind, gone], holdsOf([8, 9], 1_200, 0))).toHaveLength(1);
  });

  it('counts the passes of each wait for itself', () => {
    const lines = [...holdsOf([8, 9, 10], 1_200, 2), ...holdsOf([11, 12], 3_200, 2)];
    expect(found([alone, behind, alone, behind, gone], lines)).toEqual([]);
    expect(found([alone, behind, behind, behind, gone], lines)).toHaveLength(1);
  });

  it('judges one of several locks by its request, because it may be passed on before the others are granted', () => {
    const ofSeveral = (askedMs: number, grantedMs: number): Lines => [
      ...holdsOf([8], 200, 0),
      [
        askedMs,
        { type: 'asked', ask: 9, lock: LOCK, seat: MUTEX, timeoutMs: null, isOneOfSeveral: true, passes: 0 },
      ],
      [grantedMs, { type: 'granted', ask: 9, id: 'w8', token: 9, untilNs: at(9_000) }],
      [grantedMs + 20, { type: 'released', ask: 9, wasHeld: true }],
    ];
    expect(found([alone, behind, gone], ofSeveral(500, 1_500))).toEqual([]);
    expect(found([alone, behind, gone], ofSeveral(1_300, 1_500))).toHaveLength(1);
  });
});
