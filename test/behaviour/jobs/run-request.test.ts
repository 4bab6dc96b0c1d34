import { describe, expect, it } from 'vitest';

import { systemClock } from '../../../src/clock.js';
import { StoreUnavailableError, UnsupportedServerError } from '../../../src/errors.js';
import type { LeaseContext } from '../../../src/lease/acquiring/lease-context.js';
import { JobNotStartedError } from '../../../src/schedule/job-not-started.js';
import type { CallAnswer } from '../../../src/schedule/job-ledger.js';
import { RunRequest } from '../../../src/schedule/run-request.js';
import { ServerTime } from '../../../src/schedule/server-time.js';
import type { Outcome } from '../../../src/store/outcome.js';
import { rejection } from '../../../lab/patience.js';

const lost: CallAnswer = { cause: new Error('the answer was lost') };
const late: CallAnswer = 'late';
const refusal: CallAnswer = new StoreUnavailableError('e', true, new Error('not permitted'));
const unsupported: CallAnswer = new UnsupportedServerError('e', 'too old');
const none: CallAnswer = { asked: 0, claimed: 0 };
const stored: CallAnswer = { asked: 1, claimed: 0 };

const silence: Outcome<[]> = { type: 'unknown', maybeApplied: false, error: new Error('no answer') };

interface Circumstances {
  readonly boundMs: number;
  readonly claimed?: number;
  readonly ends?: number[];
  /** The outcome of the read that looks for the leader. */
  readonly read?: Outcome<[]>;
}

/** A request that gets these answers in turn, and then the last one again and again. */
function requestAnswered(
  answers: readonly CallAnswer[],
  { boundMs, claimed, ends = [], read = silence }: Circumstances,
): RunRequest {
  let asked = 0;
  return new RunRequest({
    context: {
      clock: systemClock,
      closing: new AbortController().signal,
      settings: { storeTimeoutMs: 20 },
      collection: { read: () => Promise.resolve(read) },
    } as unknown as LeaseContext,
    electionName: 'e',
    job: 'j',
    ledger: {
      time: new ServerTime(systemClock),
      call: (_, untilMs) => {
        const answer = answers[Math.min(asked, answers.length - 1)] ?? lost;
        asked += 1;
        ends.push(untilMs);
        return Promise.resolve(answer);
      },
      claimedCall: () => Promise.resolve(claimed),
    },
    boundMs,
    stored: () => undefined,
  });
}

/** The error of a request that gets these answers, and whose run no leader claims. */
const answered = (answers: readonly CallAnswer[]): Promise<unknown> =>
  rejection(requestAnswered(answers, { boundMs: 50 }).run());

/** The latest times at which the calls of a request may take effect, without its first read. */
async function endsOf(answers: readonly CallAnswer[]): Promise<readonly number[]> {
  const ends: number[] = [];
  await requestAnswered(answers, { boundMs: 60_000, claimed: 1, ends }).run();
  return ends.slice(1);
}

describe('a request for a run that the store does not answer', () => {
  it.each<[string, boolean, readonly CallAnswer[]]>([
    ['has done nothing if its first read is unanswered', true, [lost]],
    ['has done nothing if the store refuses to store its call', true, [none, refusal]],
    ['may have stored its call if that is unanswered', false, [none, lost]],
    [
      'may have stored its call if that is unanswered and its repeat is refused',
      false,
      [none, lost, refusal],
    ],
    ['has done nothing if its call always comes too late', true, [none, lost, late]],
    [
      'may have started a run if the store stays silent after it has stored the call',
      false,
      [none, stored, lost],
    ],
    [
      'may have started a run if the store refuses after it has stored the call',
      false,
      [none, stored, refusal],
    ],
    [
      'may have stored its call if that is unanswered and the server then lacks what jobs need',
      false,
      [none, lost, unsupported],
    ],
  ])('%s', async (_, outcomeKnown, answers) => {
    expect(await answered(answers)).toMatchObject({
      code: 'STORE_UNAVAILABLE',
      lockName: 'e',
      outcomeKnown,
    });
  });
});

describe('a request whose run no leader claims', () => {
  const sentAt = { ms: 0, wallMs: 0, wallAheadMs: 0 };

  it.each<[string, Outcome<[]>, string]>([
    ['says that there is no leader', { type: 'done', value: [], sentAt }, 'its election has no leader'],
    ['says that the leader is unknown', silence, 'the leader of its election could not be read'],
  ])('%s', async (_, read, led) => {
    const request = requestAnswered([none, stored], { boundMs: 50, claimed: 0, read });
    const error = (await rejection(request.run())) as JobNotStartedError;
    expect(error).toBeInstanceOf(JobNotStartedError);
    expect(error.message).toMatch(new RegExp(`^Job "j" was not started within 0\\.\\d s: ${led}$`));
    expect(error).toMatchObject({ leader: null, runningSince: null });
    expect(Number.isInteger(error.waitedMs)).toBe(true);
  });
});

describe('a call whose answer is lost', () => {
  it('is repeated with the same latest time to take effect (E2)', async () => {
    const ends = await endsOf([none, lost, lost, stored]);
    expect(ends).toHaveLength(3);
    expect(new Set(ends).size).toBe(1);
  });

  it('is made anew with a later such time once the server says that it came too late', async () => {
    const [first = NaN, second, third = NaN] = await endsOf([none, lost, late, stored]);
    expect(second).toBe(first);
    expect(third).toBeGreaterThan(first);
  });
});
