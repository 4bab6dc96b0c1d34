import { Long } from 'mongodb';
import type { Document } from 'mongodb';
import { afterAll, describe, expect, inject, it } from 'vitest';

import { electionRules } from '../../../src/protocol/kinds/election-rules.js';
import { MAX_JOBS } from '../../../src/protocol/lock-document.js';
import type { Lease } from '../../../src/protocol/lock-document.js';
import type { ClaimOutcome, StoredClaim } from '../../../src/protocol/jobs/job-claims.js';
import type { Claim, Operation } from '../../../src/protocol/operation.js';
import { answerTo } from '../../../src/protocol/wake.js';
import { LockDocumentDriver } from '../../model/documents/lock-document-driver.js';
import {
  ask,
  cancel,
  enqueue,
  evict,
  extend,
  handOver,
  leave,
  tryOnce,
} from '../../model/documents/operations.js';

const driver = new LockDocumentDriver(inject('mongoUri'), electionRules);

afterAll(() => driver[Symbol.asyncDispose]());

const standing = (transitionMs = 0) => ({ candidateId: 'a', value: '', transitionMs });

const ago = (ms: number): Date => new Date(Date.now() - ms);

/** An election that `w1` leads, with `w2` behind it. */
async function led(transitionMs = 0): Promise<string> {
  const name = driver.newName();
  await driver.apply(name, [enqueue('w1', standing(transitionMs))]);
  await driver.apply(name, [enqueue('w2', { ...standing(transitionMs), candidateId: 'b' })]);
  return name;
}

let nonces = 0;

const claimOf = (overrides: Partial<Claim> = {}): Claim => ({
  type: 'claim',
  id: 'w1',
  token: 1,
  job: 'j',
  instant: ago(1_000),
  after: null,
  claimId: 'c1',
  nonce: String((nonces += 1)),
  ...overrides,
});

/** The token of the term; 1, which no term has, if there is none. */
async function tokenOf(name: string): Promise<number> {
  const { holder } = ((await driver.read(name)) ?? {}) as { holder?: Lease | null };
  return holder?.token ?? 1;
}

/** The answer to a claim, by default of the present term. */
async function answerOf(name: string, overrides?: Partial<Claim>): Promise<string | undefined> {
  const claim = claimOf({ token: await tokenOf(name), ...overrides });
  const { reply } = await driver.apply(name, [claim]);
  return answerTo(reply.wake, claim.nonce);
}

async function claimsOf(name: string): Promise<readonly StoredClaim[]> {
  const stored = await driver.read(name);
  return (stored?.['claims'] ?? []) as readonly StoredClaim[];
}

const stores = async (name: string, claims: unknown): Promise<void> => {
  await driver.tamper(name, { $set: { claims } });
};

const entry = (job: string, overrides: Document = {}): Document => ({
  ...{ job, instant: ago(60_000), claimId: 'c0', anchor: ago(90_000) },
  ...overrides,
});

describe('a claim', () => {
  it('is stored with its instant, and the first claimed instant stays the anchor of the job', async () => {
    const name = await led();
    expect(await claimsOf(name)).toEqual([]);
    const [first, second] = [ago(2_000), ago(1_000)];
    expect(await answerOf(name, { instant: first })).toBe('claimed');
    expect(await claimsOf(name)).toEqual([{ job: 'j', instant: first, claimId: 'c1', anchor: first }]);
    expect(await answerOf(name, { instant: second, after: first, claimId: 'c2' })).toBe('claimed');
    expect(await answerOf(name, { instant: second, job: 'k', claimId: 'c3' })).toBe('claimed');
    expect(await claimsOf(name)).toEqual([
      { job: 'j', instant: second, claimId: 'c2', anchor: first },
      { job: 'k', instant: second, claimId: 'c3', anchor: second },
    ]);
  });

  it('gets the same answer whenever it is repeated, even after the term', async () => {
    const name = await led();
    const claim = { instant: ago(1_000) };
    expect(await answerOf(name, claim)).toBe('claimed');
    const stored = await claimsOf(name);
    expect(await answerOf(name, claim)).toBe('claimed');
    await driver.apply(name, [leave('w1')]);
    expect(await answerOf(name, claim)).toBe('claimed');
    expect(await claimsOf(name)).toEqual(stored);
    expect(await answerOf(name, { ...claim, id: 'w2', claimId: 'c2' })).toBe('outdated');
  });

  it('leaves the stored run as it was if it is repeated after the term, even without a leader', async () => {
    const name = await led();
    const instant = ago(1_000);
    const claim = { instant, runs: true };
    expect(await answerOf(name, claim)).toBe('claimed');
    await driver.apply(name, [
      { type: 'conclude', id: 'w1', job: 'j', instant, outcome: 'failed', nonce: 'n1' },
    ]);
    const stored = await claimsOf(name);
    expect(stored).toMatchObject([{ run: { term: 'w1', candidateId: 'a', outcome: 'failed' } }]);
    for (const gone of ['w1', 'w2']) {
      await driver.apply(name, [leave(gone)]);
      expect(await answerOf(name, claim)).toBe('claimed');
      expect(await claimsOf(name)).toEqual(stored);
      expect(await driver.isLegal(name)).toBe(true);
    }
  });

  it('causes a write whatever its answer is, so that a majority has confirmed it', async () => {
    const name = await led();
    const before = (await driver.oplog(name)).length;
    const claim = { instant: ago(1_000) };
    for (const asked of [claim, claim, { ...claim, claimId: 'c2' }, { id: 'w9' }])
      await answerOf(name, asked);
    expect(await driver.oplog(name)).toHaveLength(before + 4);
  });

  it('accepts any text as the name of a job', async () => {
    const name = await led();
    const jobs = ['$holder', '$$NOW', 'a.b', '', ' ', '0', '__proto__', 'ä\u0000\u{1f512}', '{"$gt":""}'];
    for (const job of jobs) expect(await answerOf(name, { job, claimId: `of ${job}` })).toBe('claimed');
    expect((await claimsOf(name)).map(({ job }) => job)).toEqual(jobs);
    for (const job of jobs) expect(await answerOf(name, { job, claimId: 'another' })).toBe('outdated');
  });

  it('can share one update with others, each judged by what the claims before it stored', async () => {
    const name = await led();
    const [first, second] = [ago(2_000), ago(1_000)];
    const token = await tokenOf(name);
    const claims = [
      claimOf({ token, instant: first }),
      claimOf({ token, instant: first, claimId: 'c2' }),
      claimOf({ token, instant: second, after: first, claimId: 'c3' }),
      claimOf({ token, instant: second, job: 'k', claimId: 'c4' }),
    ];
    const { reply } = await driver.apply(name, [...claims, extend('w1')]);
    const answers = claims.map(({ nonce }) => answerTo(reply.wake, nonce));
    expect(answers).toEqual(['claimed', 'outdated', 'claimed', 'claimed']);
    expect(await claimsOf(name)).toHaveLength(2);
  });

  it('is the only one of twenty simultaneous claims that wins, for each of a series of instants', async () => {
    const name = await led();
    const start = Date.now() - 60_000;
    let after: Date | null = null;
    for (let round = 0; round < 10; round += 1) {
      const instant = new Date(start + round * 1_000);
      const last = after;
      const asked = Array.from({ length: 20 }, (_, index) =>
        answerOf(name, { instant, after: last, claimId: `c${String(round)}-${String(index)}` }),
      );
      const answers = await Promise.all(asked);
      expect(answers.filter((answer) => answer === 'claimed')).toHaveLength(1);
      expect(answers.filter((answer) => answer === 'outdated')).toHaveLength(19);
      after = instant;
    }
  });
});

/** A reason why a claim has no effect. */
interface Refused {
  readonly why: string;
  readonly answer: ClaimOutcome;
  readonly transitionMs?: number;
  readonly before?: (name: string) => Promise<unknown>;
  readonly claim?: Partial<Claim>;
}

const last = ago(60_000);

const REFUSED: readonly Refused[] = [
  { why: 'an unknown attempt', answer: 'deposed', claim: { id: 'w9' } },
  { why: 'a waiter', answer: 'deposed', claim: { id: 'w2' } },
  { why: 'another term of the same attempt', answer: 'deposed', claim: { token: 7 } },
  {
    why: 'a released lease',
    answer: 'deposed',
    before: (name) => driver.apply(name, [leave('w1')]),
  },
  {
    why: 'an evicted lease',
    answer: 'deposed',
    before: (name) => driver.apply(name, [evict('w1')]),
  },
  {
    why: 'a lease that was handed over',
    answer: 'deposed',
    before: (name) => driver.apply(name, [handOver('w1', 'b')]),
  },
  { why: 'an expired lease', answer: 'deposed', before: (name) => driver.lapse(name, ['w1']) },
  {
    why: 'an expired term in its transition',
    answer: 'deposed',
    transitionMs: 60_000,
    before: (name) => driver.lapse(name, ['w1'], new Date(Date.now() + 30_000)),
  },
  {
    why: 'a lease that was asked to end',
    answer: 'deposed',
    before: (name) => driver.apply(name, [ask('w1')]),
  },
  {
    why: 'an instant in the future of the server',
    answer: 'early',
    claim: { instant: new Date(Date.now() + 3_600_000) },
  },
  {
    why: 'a missing last instant',
    answer: 'outdated',
    before: (name) => stores(name, [entry('j', { instant: last })]),
  },
  {
    why: 'a wrong last instant',
    answer: 'outdated',
    before: (name) => stores(name, [entry('j', { instant: last })]),
    claim: { after: ago(70_000) },
  },
  {
    why: 'a last instant where none is stored',
    answer: 'outdated',
    claim: { after: last },
  },
  {
    why: 'the instant that was claimed last',
    answer: 'outdated',
    before: (name) => stores(name, [entry('j', { instant: last })]),
    claim: { after: last, instant: last },
  },
  {
    why: 'an instant before the last claimed one',
    answer: 'outdated',
    before: (name) => stores(name, [entry('j', { instant: last })]),
    claim: { after: last, instant: ago(61_000) },
  },
  {
    why: 'one job more than an election can have',
    answer: 'full',
    before: (name) =>
      stores(
        name,
        Array.from({ length: MAX_JOBS }, (_, index) => entry(`j${String(index)}`)),
      ),
  },
];

describe('a claim has no effect', () => {
  it.each(REFUSED)('for $why', async ({ answer, transitionMs = 0, before, claim = {} }) => {
    const name = await led(transitionMs);
    await before?.(name);
    const stored = await claimsOf(name);
    expect(await answerOf(name, claim)).toBe(answer);
    expect(await claimsOf(name)).toEqual(stored);
  });

  it('without a document, and creates none', async () => {
    const name = driver.newName();
    expect(await driver.send(name, [claimOf()])).toBeNull();
    expect(await driver.read(name)).toBeNull();
  });
});

describe('a claim that was told that its term is over', () => {
  const inTransition = async (): Promise<string> => {
    const name = await led(60_000);
    await driver.lapse(name, ['w1'], new Date(Date.now() + 30_000));
    return name;
  };

  /** `meanwhile` happens between the answer and the arrival of an earlier copy. */
  const staysDeposed = async (
    name: string,
    claim: Partial<Claim>,
    meanwhile: () => Promise<unknown>,
  ): Promise<void> => {
    expect(await answerOf(name, claim)).toBe('deposed');
    await meanwhile();
    expect((await driver.read(name))?.['holder']).toMatchObject({ id: 'w1' });
    expect(await answerOf(name, claim)).toBe('deposed');
    expect(await claimsOf(name)).toEqual([]);
  };

  it('has no effect later, although an extension arrives in the transition of the election', async () => {
    const name = await inTransition();
    await staysDeposed(name, { instant: ago(1_000) }, () => driver.extend(name, ['w1'], 30_000, 60_000));
  });

  it('has no effect later, although a look arrives in the transition of the election', async () => {
    const name = await inTransition();
    await staysDeposed(name, { instant: ago(1_000) }, () => driver.apply(name, [extend('w1')]));
  });

  it('has no effect later, although a late copy of the request is elected', async () => {
    const name = await led();
    const claim = { instant: ago(1_000), token: await tokenOf(name) };
    await driver.apply(name, [evict('w1')]);
    await staysDeposed(name, claim, () => driver.apply(name, [leave('w2'), enqueue('w1', standing())]));
  });
});

it('a known job can claim even if the election has as many jobs as it can', async () => {
  const name = await led();
  const jobs = Array.from({ length: MAX_JOBS }, (_, index) => entry(`j${String(index)}`, { instant: last }));
  await stores(name, jobs);
  expect(await answerOf(name, { job: 'j500', after: last })).toBe('claimed');
  expect((await claimsOf(name)).filter(({ claimId }) => claimId === 'c1')).toHaveLength(1);
  expect(await claimsOf(name)).toHaveLength(MAX_JOBS);
});

/** Values that are corrupt as the claims of a document. */
const UNSOUND: readonly unknown[] = [
  ...[null, 'x', 7, true, {}, new Date()],
  ...[null, 'x', 7, true, [], {}, new Date()].map((each) => [each]),
  ...[
    { job: 7 },
    { job: null },
    { job: undefined },
    { instant: '2026-01-01' },
    { instant: 7 },
    { instant: Long.fromNumber(7) },
    { instant: null },
    { instant: new Date(-1) },
    { instant: new Date(8_640_000_000_000_000) },
    { claimId: 7 },
    { claimId: null },
    { anchor: null },
    { anchor: [new Date()] },
    { anchor: new Date(-1) },
  ].map((wrong) => [entry('k'), entry('j', wrong)]),
  [entry('j'), entry('j')],
];

describe('a document with corrupt claims', () => {
  it.each(UNSOUND.map((claims) => ({ claims })))('is left untouched: $claims', async ({ claims }) => {
    const name = await led();
    await stores(name, claims);
    const before = await driver.image(name);
    const operations: readonly Operation[] = [
      claimOf({ after: last }),
      enqueue('w3', standing()),
      tryOnce('w3', standing()),
      leave('w1'),
      cancel('w2'),
      extend('w1', 'w2'),
      evict('w1'),
      handOver('w1', 'b'),
    ];
    for (const operation of operations) {
      const { reply } = await driver.apply(name, [operation]);
      if (operation.type === 'claim') expect(answerTo(reply.wake, operation.nonce)).toBeUndefined();
    }
    await driver.apply(name, [claimOf(), leave('w1'), enqueue('w4', standing())], { takingOver: true });
    await driver.extend(name, ['w1'], 30_000, 60_000);
    expect(await driver.image(name)).toBe(before);
    expect(await driver.isLegal(name)).toBe(false);
  });

  it('is not acquired by the fast path, nor taken over from another kind of lock', async () => {
    const name = driver.newName();
    await driver.apply(name, [enqueue('w1', standing()), leave('w1')]);
    await stores(name, 7);
    const before = await driver.image(name);
    expect((await driver.sendShort(name, tryOnce('w3', standing())))?.answer).toBeUndefined();
    expect(await driver.image(name)).toBe(before);
    await driver.tamper(name, { $set: { kind: 'mutex' } });
    const asMutex = await driver.image(name);
    await driver.apply(name, [enqueue('w4', standing())], { takingOver: true });
    expect(await driver.image(name)).toBe(asMutex);
  });
});
