import type { Document } from 'mongodb';
import { describe, expect, it } from 'vitest';

import { ELECTION } from '../../faults/workload/candidate.js';
import { at } from '../../judge/written-history.js';
import type { Lines } from '../../judge/written-history.js';
import { lease, mutex } from '../../judge/written-versions.js';
import type { ProcessPlan } from '../plan/plan.js';
import { checkFailures } from './failure-checker.js';
import { checkObservers } from './observer-checker.js';
import { changesIn, date, evidence, inWords, when } from './written-evidence.js';
import type { Written } from './written-evidence.js';

const term = (token: number, candidateId: string, untilMs = 20_000): Document =>
  mutex(lease(`w${token}`, token, { candidateId, value: '', transitionMs: 0, expiresAt: date(untilMs) }), {
    kind: 'election',
  });

/** a leads from 1 s on, nobody from 4 s on, and b from 6 s on, whose lease ends at 9 s. */
const versions: Written = [
  [1_000, term(1, 'a')],
  [4_000, mutex(null, { kind: 'election', fence: 1 })],
  [6_000, term(2, 'b', 9_000)],
];

type Seen = readonly [atMs: number, token: number | null, candidateId?: string];

const observation = (fromMs: number, untilMs: number, ...seen: readonly Seen[]): Lines => [
  [fromMs, { type: 'observing', observation: 1, lock: ELECTION }],
  ...seen.map(([ms, token, candidateId]): Lines[number] => [
    ms,
    { type: 'observed', observation: 1, token, ...(candidateId === undefined ? {} : { candidateId }) },
  ]),
  [untilMs, { type: 'observed no more', observation: 1 }],
];

const judged = (
  lines: Lines,
  faults: readonly (readonly [number, number])[] = [],
  isPolling = false,
): string => {
  const process = { isPolling } as ProcessPlan;
  const observed = evidence([lines], { processes: [process] }, faults);
  return inWords(checkObservers(observed, changesIn(ELECTION, versions), when));
};

const all: readonly Seen[] = [
  ...([
    [100, null],
    [1_050, 1, 'a'],
    [4_050, null],
  ] as const),
  ...([
    [6_050, 2, 'b'],
    [9_050, null],
  ] as const),
];

describe('an observer', () => {
  it('may name the leaders in their order, and that nobody leads, after some messages', () => {
    expect(judged(observation(50, 12_000, ...all))).toBe('');
    expect(judged(observation(1_500, 3_000, [1_540, 1, 'a']))).toBe('');
    expect(judged(observation(1_500, 1_540))).toBe('');
  });

  it('may name a leader again after it has named nobody, if a fault may have changed the clock', () => {
    const again: readonly Seen[] = [
      [1_540, 1, 'a'],
      [2_000, null],
      [2_300, 1, 'a'],
    ];
    expect(judged(observation(1_500, 3_000, ...again), [[1_800, 2_100]])).toBe('');
    expect(judged(observation(1_500, 3_000, ...again))).toMatch(/R2 .*after token 1/);
    const twice: readonly Seen[] = [
      [1_540, 1, 'a'],
      [2_300, 1, 'a'],
    ];
    expect(judged(observation(1_500, 3_000, ...twice), [[1_800, 2_100]])).toMatch(/R2 .*after token 1/);
  });

  it('may be as late as the interval of its reads if it has no stream', () => {
    const [late, tooLate] = [
      observation(1_500, 3_000, [2_340, 1, 'a']),
      observation(1_500, 3_000, [2_360, 1, 'a']),
    ];
    expect(judged(late, [], true)).toBe('');
    expect(judged(late)).toMatch(/^L2 .*does not observe a/);
    expect(judged(tooLate, [], true)).toMatch(/^L2 .*does not observe a/);
  });

  it.each<[string, RegExp, Lines]>([
    ['another candidate', /^R2 .*c with token 1.*no such leader/, observation(1_500, 1_540, [1_530, 1, 'c'])],
    ['a leader before its election', /^R2 .*a with token 1/, observation(50, 900, [100, 1, 'a'])],
    [
      'a leader after the next one',
      /R2 .*after token 2/,
      observation(50, 7_000, ...all.slice(0, 4), [6_500, 1, 'a']),
    ],
    [
      'the same leader twice',
      /^R2 .*after token 1/,
      observation(1_500, 3_000, [1_540, 1, 'a'], [1_700, 1, 'a']),
    ],
    [
      'a leader whose term had ended long before',
      /L2 .*whose term had ended/,
      observation(5_100, 5_145, [5_140, 1, 'a']),
    ],
    ['nothing for longer than messages take', /^L2 .*does not observe a/, observation(1_500, 3_000)],
    ['a leader whose lease is over', /^L2 .*that nobody leads/, observation(50, 12_000, ...all.slice(0, 4))],
  ])('must not name %s', (_, words, lines) => {
    expect(judged(lines)).toMatch(words);
  });

  it('may be late where a fault happens', () => {
    expect(judged(observation(1_500, 3_000), [[1_520, 1_700]])).toBe('');
  });
});

describe('a call that fails', () => {
  const failed = (code: string, faults: readonly (readonly [number, number])[] = []): string =>
    inWords(
      checkFailures(
        evidence([[[500, { type: 'failed', what: 'observe', sinceNs: at(400), code }]]], {}, faults),
      ),
    );
  const revoking = { type: 'revoking', call: 1, lock: 'l', isForced: true, why: '' } as const;
  const revoked = (faults: readonly (readonly [number, number])[] = []): string => {
    const code = 'STORE_UNAVAILABLE';
    const lines: Lines = [
      [400, revoking],
      [500, { type: 'call failed', call: 1, code }],
    ];
    return inWords(checkFailures(evidence([lines], {}, faults)));
  };

  it('is excused only by a fault, and only with a code of its own', () => {
    expect(failed('STORE_UNAVAILABLE', [[450, 460]])).toBe('');
    expect(failed('STORE_UNAVAILABLE')).toMatch(/^R2 .*observe.* and no fault happened/);
    expect(failed('JOB_NOT_STARTED', [[450, 460]])).toMatch(/^R2 .*fails with JOB_NOT_STARTED$/);
    expect(revoked([[100, 110]])).toBe('');
    expect(revoked()).toMatch(/^R2 .*evict.* and no fault happened/);
  });
});
