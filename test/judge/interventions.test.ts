import { describe, expect, it } from 'vitest';

import type { History, Interventions } from '../faults/history.js';
import { checkBeliefs } from './belief-checker.js';
import { checkLiveness } from './liveness-checker.js';
import { checkSets } from './set-checker.js';
import { LOCK, MUTEX, asked, at, granted, held, history, permits } from './written-history.js';
import type { Lines } from './written-history.js';

const NOTHING: Interventions = { evictions: [], grantLimits: [], limits: [] };

const withInterventions = (workers: readonly Lines[], its: Partial<Interventions>): History => ({
  ...history(workers),
  interventions: { ...NOTHING, ...its },
});

const lease = (token: number) => ({ lock: LOCK, id: `w${token}`, firstToken: token, lastToken: token });

const evicted = (token: number, atMs: number): Partial<Interventions> => ({
  evictions: [{ ...lease(token), atNs: at(atMs) }],
});

const words = (violations: readonly { readonly invariant: string; readonly what: string }[]): string[] =>
  violations.map(({ invariant, what }) => `${invariant} ${what}`);

describe('after an eviction', () => {
  const both = [held(MUTEX, 1, 10, 50), held(MUTEX, 2, 30, 40)];

  it('the next holder may come in before the evicted one hears of it', () => {
    expect(checkBeliefs(withInterventions(both, evicted(1, 30)))).toEqual([]);
  });

  it('and not before it, nor during the hold of anybody else, nor of another grant of the same request', () => {
    for (const its of [evicted(1, 31), evicted(3, 20), {}, evictedLater()]) {
      expect(words(checkBeliefs(withInterventions(both, its))).join()).toMatch(/^S2 .*ask 1 .*while .*ask 2/);
    }
  });

  const evictedLater = (): Partial<Interventions> => ({
    evictions: [{ ...lease(1), firstToken: 9, lastToken: 25, atNs: at(20) }],
  });

  it('a set in memory is protected no more, and was until then', () => {
    const value = { ask: 1, set: 'memory', lock: LOCK, value: 'a' } as const;
    const adds: Lines = [
      ...[asked(1, 1), granted(2, 1, 1, 900)],
      [10, { type: 'adding', ...value }],
      [20, { type: 'added', ...value, outcome: 'ok', isLate: false }],
    ];
    const judged = (its: Partial<Interventions>): readonly string[] =>
      words(
        checkSets(withInterventions([adds], its), [{ set: 'memory', lock: LOCK, values: [] }]).violations,
      );
    expect(judged(evicted(1, 15))).toEqual([]);
    expect(judged(evicted(1, 21)).join()).toMatch(/^S2 .*is lost/);
  });
});

describe('the limit of a semaphore', () => {
  const limits = (first: number, second: number): Partial<Interventions> => ({
    grantLimits: [
      { ...lease(1), limit: first },
      { ...lease(2), limit: second },
    ],
  });
  const both = [held(permits(2), 1, 10, 50), held(permits(2), 2, 20, 40)];

  it('counts as it was stored at the newest grant', () => {
    expect(checkBeliefs(withInterventions(both, limits(2, 4)))).toEqual([]);
    expect(words(checkBeliefs(withInterventions(both, limits(4, 3)))).join()).toMatch(/^S2 /);
    const turned = [held(permits(2), 2, 10, 50), held(permits(2), 1, 20, 40)];
    expect(checkBeliefs(withInterventions(turned, limits(2, 4)))).toEqual([]);
  });

  const refused: Lines = [
    asked(10, 1, permits(3)),
    [30, { type: 'not granted', ask: 1, code: 'SEMAPHORE_LIMIT_MISMATCH', isKnown: true }],
  ];
  const judged = (limit: number, fromMs: number, untilMs: number): readonly string[] =>
    words(
      checkLiveness(
        withInterventions([refused], {
          limits: [{ lock: LOCK, limit, fromNs: at(fromMs), untilNs: at(untilMs) }],
        }),
        { boundMs: 1_000, slackMs: 20, lostSlackMs: 1 },
      ),
    );

  it('refuses a request for more permits, if it was stored during the request', () => {
    expect(judged(2, 0, 10)).toEqual([]);
    expect(judged(2, 30, 90)).toEqual([]);
    for (const wrong of [judged(2, 0, 9), judged(2, 31, 90), judged(3, 0, 90)]) {
      expect(wrong.join()).toMatch(/^R2 .*is refused by SEMAPHORE_LIMIT_MISMATCH/);
    }
  });
});
