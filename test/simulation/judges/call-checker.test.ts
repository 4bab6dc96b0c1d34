import type { Document } from 'mongodb';
import { describe, expect, it } from 'vitest';

import { lease, mutex, WALL_MS } from '../../judge/written-versions.js';
import { checkCalls } from './call-checker.js';
import type { CallForRun, JobHistory, JobRun } from './job-checker.js';
import { AHEAD_MS, changesIn, date, inWords, when } from './written-evidence.js';
import type { Written } from './written-evidence.js';

const EVERY_MS = 250;
const JOB = 'job';

/** A run of 200 ms for the instant at which it begins. */
const run = (atMs: number, token: number): JobRun => {
  const fromMs = WALL_MS + atMs - AHEAD_MS;
  return { worker: 0, firedAtMs: WALL_MS + atMs, token, fromMs, untilMs: fromMs + 200 };
};

/** A `runNow` from its beginning to its answer. */
const call = (fromMs: number, atMs: number, code?: string): CallForRun => ({
  ...{ worker: 0, fromMs: WALL_MS + fromMs - AHEAD_MS },
  answer: { atMs: WALL_MS + atMs - AHEAD_MS, ...(code === undefined ? {} : { code }) },
});

interface Stored {
  readonly claim?: number;
  readonly asked?: number;
  readonly claimed?: number;
  readonly untilMs?: number;
}

/** The last claimed instant, which also names the claim, and the numbers of the last calls. */
const stored = ({ claim, asked, claimed = 0, untilMs = 9_000 }: Stored): Document =>
  mutex(lease('w1', 1, { candidateId: 'a', value: '' }), {
    kind: 'election',
    ...(claim === undefined
      ? {}
      : { claims: [{ job: JOB, instant: date(claim), claimId: String(claim), anchor: date(0) }] }),
    ...(asked === undefined ? {} : { calls: [{ job: JOB, asked, claimed, until: date(untilMs) }] }),
  });

const judged = (versions: Written, history: Partial<JobHistory>, disturbed = false): string => {
  const nothing = {
    runs: [],
    missed: [],
    calls: [],
    terms: [],
    everyMs: EVERY_MS,
    schedule: 'fixed-rate',
  } as const;
  return inWords(
    checkCalls({ ...nothing, ...history }, changesIn(JOB, versions), {
      ...{ when, aheadMs: AHEAD_MS, isDisturbed: () => disturbed },
    }),
  );
};

/** A call at 100 ms, which a claim answers at 120 ms. */
const answered: Written = [
  [0, stored({ claim: 0 })],
  [100, stored({ claim: 0, asked: 1 })],
  [120, stored({ claim: 120, asked: 1, claimed: 1 })],
];

describe('a call for a run', () => {
  it('is stored once, is answered after its claim, and may share a run', () => {
    expect(judged(answered, { calls: [call(90, 130)] })).toBe('');
    expect(judged(answered, { calls: [call(90, 130), call(95, 140)] })).toBe('');
    expect(judged(answered, { calls: [call(90, 95, 'STORE_UNAVAILABLE')] })).toBe('');
    expect(judged(answered.slice(0, 2), { calls: [call(90, 900, 'JOB_NOT_STARTED')] })).toBe('');
  });

  it.each<[string, RegExp, Written, readonly CallForRun[]]>([
    ['nobody has asked for', /^S1 job: call 1 is stored .* no process/, answered, []],
    ['was stored after its answer', /^S1 .*no process/, answered, [call(50, 90, 'JOB_NOT_STARTED')]],
    [
      'was stored twice',
      /^S1 job: call 2 is stored .* no process/,
      [...answered, [130, stored({ claim: 120, asked: 2, claimed: 1 })]],
      [call(90, 140)],
    ],
    [
      'came too late',
      /^S1 .*after the time until which/,
      [
        [0, stored({ claim: 0 })],
        [100, stored({ claim: 0, asked: 1, untilMs: 100 })],
      ],
      [call(50, 200, 'JOB_NOT_STARTED')],
    ],
    ['is answered before its claim', /^R2 runNow .*no run was claimed/, answered, [call(90, 110)]],
    [
      'is answered by an older claim',
      /^R2 runNow .*no run was claimed/,
      answered,
      [call(90, 130), call(125, 140)],
    ],
    [
      'is claimed without a claim',
      /^S1 job: call 1 counts as claimed/,
      [...answered.slice(0, 2), [120, stored({ claim: 0, asked: 1, claimed: 1 })]],
      [call(90, 900, 'STORE_UNAVAILABLE')],
    ],
    [
      'is claimed by another number',
      /S1 job: call 1 is claimed, and the last call is 2/,
      [
        [0, stored({ claim: 0 })],
        [100, stored({ claim: 0, asked: 2 })],
        [120, stored({ claim: 120, asked: 2, claimed: 1 })],
      ],
      [call(90, 130)],
    ],
  ])('is a violation if it %s', (_, words, versions, calls) => {
    expect(judged(versions, { calls })).toMatch(words);
  });
});

describe('a claim that answers no call', () => {
  const uncalled: Written = [
    [0, stored({ claim: 0 })],
    [260, stored({ claim: 260 })],
  ];

  it('is of an instant of the schedule', () => {
    expect(judged([...uncalled.slice(0, 1), [500, stored({ claim: 500 })]], {})).toBe('');
    expect(judged(uncalled, {})).toMatch(/^S1 the claim of .* is 10 ms off the schedule/);
    expect(judged(uncalled, { schedule: 'cron', everyMs: 1_000 })).toMatch(/^S1 .*260 ms off/);
  });

  it('counts from the end of the run before with a fixed delay, and from its instant for another leader', () => {
    const judgedRuns = (runs: readonly JobRun[], versions: Written): string =>
      judged(versions, { runs, schedule: 'fixed-delay' });
    const claims = (...instants: readonly number[]): Written =>
      instants.map((ms) => [ms, stored({ claim: ms })]);
    expect(judgedRuns([run(0, 1), run(450, 1), run(900, 1)], claims(0, 450, 900))).toBe('');
    expect(judgedRuns([run(0, 1), run(250, 2), run(700, 2)], claims(0, 250, 700))).toBe('');
    const late = { runs: [run(0, 1), run(390, 1)], schedule: 'fixed-delay' } as const;
    expect(judged(claims(0, 390), late, true)).toBe('');
    expect(judged(claims(0, 249), { ...late, runs: [run(0, 1), run(249, 1)] }, true)).toMatch(
      /^S1 .*too soon/,
    );
    for (const [ms, token] of [
      [250, 1],
      [390, 1],
      [249, 2],
    ] as const) {
      expect(judgedRuns([run(0, 1), run(ms, token)], claims(0, ms))).toMatch(/^S1 .*too soon .* no call/);
      const called: Written = [
        ...claims(0),
        [ms - 1, stored({ claim: 0, asked: 1 })],
        [ms, stored({ claim: ms, asked: 1, claimed: 1 })],
      ];
      const calls = [call(ms - 2, ms + 1)];
      expect(judged(called, { runs: [run(0, 1), run(ms, token)], calls, schedule: 'fixed-delay' })).toBe('');
    }
  });
});
