import { describe, expect, it } from 'vitest';

import { at } from '../../judge/written-history.js';
import { checkJobs } from './job-checker.js';
import type { JobRun, TermOfJob } from './job-checker.js';
import { inWords } from './written-evidence.js';

const START_MS = Number(at(0)) / 1e6;
const REST_MS = 660;

const run = (fromMs: number, token: number, more: Partial<JobRun> = {}): JobRun => ({
  ...{ worker: token, firedAtMs: fromMs, token },
  ...{ fromMs: START_MS + fromMs, untilMs: START_MS + fromMs + 50, ...more },
});

const eviction = { lock: 'job', id: 'w1', firstToken: 1, lastToken: 1, atNs: at(100) };

const heard = (ms: number, why = 'revoked'): TermOfJob => ({
  ...{ worker: 1, id: 'w1', token: 1, fromMs: START_MS },
  ended: { atMs: START_MS + ms, why, says: '' },
});

const judged = (runs: readonly JobRun[], terms: readonly TermOfJob[] = [], evictions = [eviction]): string =>
  inWords(checkJobs(runs, { terms, evictions, restMs: REST_MS }));

describe('a run of a term that was evicted', () => {
  it('may follow that of the next term, and overlap it, while its process has not heard of that', () => {
    expect(judged([run(0, 1), run(110, 2), run(200, 1)])).toBe('');
    expect(judged([run(80, 1), run(110, 2)])).toBe('');
    expect(judged([run(0, 1), run(110, 2), run(200, 1)], [heard(210)])).toBe('');
    expect(judged([run(0, 1), run(110, 2), run(200, 1)], [heard(150, 'released')])).toBe('');
  });

  it.each<[string, RegExp, string]>([
    ['no term was evicted', /^S3 /, judged([run(0, 1), run(110, 2), run(200, 1)], [], [])],
    ['its process has heard of that', /^S3 /, judged([run(0, 1), run(110, 2), run(200, 1)], [heard(190)])],
    ['its lease is over', /S3 .*comes after/, judged([run(0, 1), run(110, 2), run(800, 1)])],
    [
      'its process counts on it after its lease',
      /^S2 .*counts on its term/,
      judged([run(90, 1, { untilMs: START_MS + 900, promisedMs: START_MS + 800 })]),
    ],
  ])('is a violation if %s', (_, words, found) => {
    expect(found).toMatch(words);
  });
});

describe('a job whose document was lost', () => {
  const KNOWN = { terms: [], evictions: [], restMs: REST_MS };
  const found = (runs: readonly JobRun[], losses?: Parameters<typeof checkJobs>[2]): string =>
    inWords(checkJobs(runs, KNOWN, losses));
  const twice = [run(0, 1), run(500, 2, { firedAtMs: 0 })];
  const claims = new Map([[0, 2]]);

  it('may run again for an instant that was claimed again, and not more often', () => {
    expect(found(twice)).toMatch(/^S1 /);
    expect(found(twice, { claims })).toBe('');
    expect(found([...twice, run(900, 3, { firedAtMs: 0 })], { claims })).toMatch(/^S1 /);
  });

  it('may have two runs at a time, so soon after the loss', () => {
    const both = [run(0, 2), run(20, 1)];
    expect(found(both)).toMatch(/^S2 .*\nS3 /);
    expect(found(both, { isBeyondBounds: (ms) => ms === START_MS + 20 })).toBe('');
  });
});
