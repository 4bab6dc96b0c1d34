import type { Document } from 'mongodb';
import { describe, expect, it } from 'vitest';

import type { Lines } from '../../judge/written-history.js';
import { LOCK, asked, at, granted } from '../../judge/written-history.js';
import { lease, mutex } from '../../judge/written-versions.js';
import { JOB } from '../world/job-runner.js';
import { judgeRevocations } from './revocation-checker.js';
import type { TermOfJob } from './job-checker.js';
import { changesIn, date, evidence, inWords, when } from './written-evidence.js';
import type { Written } from './written-evidence.js';

const START_MS = Number(at(0)) / 1e6;
const WHY = 'operation 1';
const SAYS = `Lock "lock" was revoked by p for "${WHY}"`;

const held = (more: Document = {}): Document =>
  lease('w1', 1, { leaseMs: 600, expiresAt: date(9_000), acquiredAt: date(-50), ...more });
const record = (forced: boolean): Document => ({ from: 1, to: 1, by: 'p', why: WHY, forced });
const told = { wake: ' p:w1:0' };

const marked = (more: Document = { revoked: [record(false)] }): Written => [
  [-50, mutex(held())],
  [110, mutex(held({ ending: true }), { ...told, ...more })],
];
const evicted: Written = [
  [-50, mutex(held())],
  [110, mutex(null, { ...told, fence: 1, revoked: [record(true)] })],
];

interface Answer {
  readonly asked?: readonly string[];
  readonly gone?: readonly string[];
  readonly evicted?: readonly string[];
}

/** A call of an operator, 10 ms before and 10 ms after its update. */
const call = (answer: Answer, { isForced = false, id = '', lock = LOCK } = {}): Lines => [
  [100, { type: 'revoking', call: 1, lock, isForced, why: WHY, ...(id === '' ? {} : { id }) }],
  [120, { type: 'revoked', call: 1, asked: [], gone: [], evicted: [], ...answer }],
];

const heldUntil = (ms: number): Lines => [asked(10, 1), granted(20, 1, 1, ms)];
const hold = heldUntil(700);
const heard = (ms: number, says = SAYS): Lines => [
  ...hold,
  [ms, { type: 'release requested', ask: 1, says }],
];
const lost = (ms: number, why = 'revoked', says = SAYS): Lines => [
  ...hold,
  [ms, { type: 'lost', ask: 1, why, says }],
];

/** Without an old copy. */
const stored = (lock: string, versions: Written) => {
  const changes = changesIn(lock, versions);
  return { changes, steps: changes, restored: new Set<never>(), mayVanish: false };
};

const judged = (
  workers: readonly Lines[],
  versions: Written,
  faults: readonly (readonly [number, number])[] = [],
): string =>
  inWords(
    judgeRevocations(evidence(workers, { operations: ['ask all'] }, faults), stored(LOCK, versions), when)
      .violations,
  );

const askedOne = { asked: ['w1'] };
const evictedOne = { evicted: ['w1'] };
const forced = { isForced: true };

describe('a revocation', () => {
  it.each<[string, readonly Lines[], Written]>([
    ['marks, is answered and heard', [heard(300), call(askedOne)], marked()],
    ['means one hold', [heard(300), call(askedOne, { id: 'w1' })], marked()],
    ['means a hold that is gone', [hold, call({ gone: ['w0'] }, { id: 'w0' })], [[-50, mutex(held())]]],
    ['evicts, and the loss says so', [lost(300), call(evictedOne, forced)], evicted],
  ])('is accepted if it %s', (_, workers, versions) => {
    expect(judged(workers, versions)).toBe('');
  });

  it.each<[string, RegExp, readonly Lines[], Written]>([
    ['was not asked for', /^S5 lock: w1 is marked.*no operator/, [heard(300)], marked()],
    [
      'has no record',
      /^S5 .*no operator.*\nR2 .*says that w1 was asked/,
      [heard(300), call(askedOne)],
      marked({}),
    ],
    ['leaves a hold out', /^R2 .*leaves out w1, which is held/, [heard(300), call({})], marked()],
    ['names nothing', /^R2 .*means w1 and names nothing/, [heard(300), call({}, { id: 'w1' })], marked()],
    [
      'names a hold twice',
      /R2 .*names a hold twice: w1,w1/,
      [heard(300), call({ asked: ['w1', 'w1'] })],
      marked(),
    ],
    ['names another hold', /R2 .*means w0 and names w1/, [hold, call(askedOne, { id: 'w0' })], marked()],
    [
      'says that a live hold is gone',
      /^R2 .*says that w1 was gone/,
      [heard(300), call({ gone: ['w1'] })],
      marked(),
    ],
    ['evicts nothing', /^R2 .*w1 was evicted/, [hold, call(evictedOne, forced)], [[-50, mutex(held())]]],
    ['is not heard', /^L4 .*does not hear of it until/, [hold, call(askedOne)], marked()],
    ['is heard late', /^L4 .*does not hear of it until/, [heard(500), call(askedOne)], marked()],
    [
      'is heard with another reason',
      /^L4 .*hears: .*operation 2/,
      [heard(300, SAYS.replace('1', '2')), call(askedOne)],
      marked(),
    ],
    [
      'is heard as that of another process',
      /^L4 .*hears: .*by q/,
      [heard(300, SAYS.replace('by p', 'by q')), call(askedOne)],
      marked(),
    ],
    [
      'is an eviction that is heard as another loss',
      /^L4 .*hears that it is evicted/,
      [lost(300, 'evicted'), call(evictedOne, forced)],
      evicted,
    ],
    [
      'is an eviction that is heard without a reason',
      /^L4 .*is evicted, and hears: $/,
      [lost(300, 'revoked', ''), call(evictedOne, forced)],
      evicted,
    ],
  ])('is a violation if it %s', (_, words, workers, versions) => {
    expect(judged(workers, versions)).toMatch(words);
  });

  it('may be heard late where a fault happens', () => {
    expect(judged([heard(500), call(askedOne)], marked(), [[200, 210]])).toBe('');
  });

  it('is found again only by an extension of the marked lease', () => {
    const extended: Written = [...marked(), [200, mutex(held({ ending: true, expiresAt: date(9_500) }))]];
    expect(judged([heard(300), call(askedOne)], extended)).toMatch(/^S5 .*w1 is extended/);
  });
});

describe('a hold that was evicted', () => {
  const relied = (untilMs: number): string =>
    judged([heldUntil(untilMs), call(evictedOne, forced)], evicted, [[90, 900]]);

  it('is relied on for no longer than its lease, also where faults happen', () => {
    expect(relied(700)).toBe('');
    expect(relied(720)).toMatch(/^S2 .*counts on its hold until 720/);
  });
});

describe('a term of the job', () => {
  const worker = 0;
  const term = { worker, id: 'w1', token: 1, fromMs: START_MS };
  const judgedTerm = (more: Partial<TermOfJob>, versions: Written, options = {}): string => {
    const workers = [[], call(options === forced ? evictedOne : askedOne, { ...options, lock: JOB })];
    const operated = evidence(workers, { operations: ['ask all'] }, [], [{ ...term, ...more }]);
    return inWords(judgeRevocations(operated, stored(JOB, versions), when).violations);
  };
  const says = SAYS.replace(LOCK, JOB);
  const requested = (ms: number, words = says): Partial<TermOfJob> => ({
    requested: { atMs: START_MS + ms, says: words },
    ended: { atMs: START_MS + ms, why: 'released', says: '' },
  });
  const ended = (ms: number, why: string): Partial<TermOfJob> => ({
    ended: { atMs: START_MS + ms, why, says },
  });

  it('hears of its revocation like other holds', () => {
    expect(judgedTerm(requested(300), marked())).toBe('');
    expect(judgedTerm(ended(300, 'revoked'), evicted, forced)).toBe('');
    expect(judgedTerm(ended(300, 'released'), evicted, forced)).toBe('');
    expect(judgedTerm(requested(300, 'a word'), marked())).toMatch(/^L4 .*hears: a word/);
    expect(judgedTerm({}, marked())).toMatch(/^L4 .*asked to release, and does not hear of it/);
    expect(judgedTerm(ended(500, 'revoked'), evicted, forced)).toMatch(/^L4 .*evicted, and does not hear/);
    expect(judgedTerm(ended(300, 'expired'), evicted, forced)).toMatch(/^L4 .*hears that it is expired/);
  });
});

describe('the mark of a leader on its own lease', () => {
  const term = (more: Document = {}): Document =>
    mutex(held({ candidateId: 'a', value: '', transitionMs: 0, ...more }), { kind: 'election', ...told });
  const own: Written = [
    [-50, term()],
    [110, term({ ending: true })],
  ];
  const ends = (ms: number): Lines => [...hold, [ms, { type: 'term ends', ask: 1 }]];

  it('needs no record if the term had begun to end before', () => {
    expect(judged([ends(90)], own)).toBe('');
    expect(judged([], own)).toBe('');
    for (const workers of [[hold], [ends(150)], [[], call(askedOne)]]) {
      expect(judged(workers, own)).toMatch(/^S5 .*w1 is marked .* by nobody/);
    }
  });
});
