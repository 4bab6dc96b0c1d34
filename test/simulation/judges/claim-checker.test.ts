import { Timestamp } from 'mongodb';
import type { Document } from 'mongodb';
import { describe, expect, it } from 'vitest';

import type { Change } from '../../judge/oplog-entry.js';
import { checkClaims } from './claim-checker.js';
import type { JobHistory } from './job-checker.js';

const EVERY_MS = 1_000;

const nothingRan: JobHistory = {
  ...{ runs: [], missed: [], calls: [], terms: [] },
  ...{ everyMs: EVERY_MS, schedule: 'fixed-rate' },
};

/** The document of a job whose last claim is for this instant. */
const claimed = (instantMs: number): Document => ({
  holder: { process: 'p1' },
  claims: [
    { job: 'job', claimId: `c${String(instantMs)}`, instant: new Date(instantMs), anchor: new Date(0) },
  ],
});

const changesOf = (...versions: readonly (Document | null)[]): readonly Change[] =>
  versions.map((after, index) => ({
    ...{ name: 'job', before: versions[index - 1] ?? null, after, term: 0, wallMs: index },
    ts: new Timestamp({ t: 0, i: index }),
  }));

const found = (...versions: readonly (Document | null)[]): readonly string[] =>
  [...checkClaims(changesOf(...versions), nothingRan, new Set())].map(({ what }) => what);

describe('a claim whose instant has neither run nor was missed', () => {
  it.each([
    ['is found if it stays', [claimed(0)], 1],
    ['is found if another claim follows', [claimed(0), claimed(EVERY_MS)], 2],
    ['is excused if the document is lost', [claimed(0), null], 0],
    ['is excused if an old copy without a claim comes back', [claimed(0), null, { holder: null }], 0],
    [
      'is excused if an old copy with an earlier claim comes back',
      [claimed(0), claimed(EVERY_MS), null, claimed(0)],
      1,
    ],
  ])('%s', (_, versions, count) => {
    expect(found(...versions)).toHaveLength(count);
  });
});
