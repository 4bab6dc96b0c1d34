import { describe, expect, it } from 'vitest';

import { systemClock } from '../../../src/clock.js';
import { StoreUnavailableError } from '../../../src/errors.js';
import type { AcquisitionContext } from '../../../src/lease/acquiring/acquisition-context.js';
import type { CallAnswer } from '../../../src/schedule/job-ledger.js';
import { RunRequest } from '../../../src/schedule/run-request.js';
import { ServerTime } from '../../../src/schedule/server-time.js';
import { rejection } from '../../../lab/patience.js';

const lost: CallAnswer = { cause: new Error('the answer was lost') };
const late: CallAnswer = 'late';
const refusal: CallAnswer = new StoreUnavailableError('e', true, new Error('not permitted'));
const none: CallAnswer = { asked: 0, claimed: 0 };
const stored: CallAnswer = { asked: 1, claimed: 0 };

/** A request that is answered so, the last answer again and again. */
function requestAnswered(
  answers: readonly CallAnswer[],
  { boundMs, claimed, ends = [] }: { boundMs: number; claimed?: number; ends?: number[] },
): RunRequest {
  let asked = 0;
  return new RunRequest({
    context: {
      clock: systemClock,
      closing: new AbortController().signal,
      settings: { storeTimeoutMs: 20 },
    } as AcquisitionContext,
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

/** What a request rejects with that is answered so, and whose run nobody claims. */
const answered = (answers: readonly CallAnswer[]): Promise<unknown> =>
  rejection(requestAnswered(answers, { boundMs: 50 }).run());

/** The ends of the calls that a request sends until its run is claimed, without that of its first question. */
async function endsOf(answers: readonly CallAnswer[]): Promise<readonly number[]> {
  const ends: number[] = [];
  await requestAnswered(answers, { boundMs: 60_000, claimed: 1, ends }).run();
  return ends.slice(1);
}

describe('a request for a run that the store does not answer', () => {
  it.each<[string, boolean, readonly CallAnswer[]]>([
    ['before it is stored, did nothing', true, [lost]],
    ['when it is refused at once, did nothing', true, [none, refusal]],
    ['when it is to be stored, may have been', false, [none, lost]],
    [
      'when it is to be stored, and is refused when it is repeated, may have been',
      false,
      [none, lost, refusal],
    ],
    ['when it always comes too late, did nothing', true, [none, lost, late]],
    ['once it is stored, may have been claimed', false, [none, stored, lost]],
    ['once it is stored, and is refused then, may have been claimed', false, [none, stored, refusal]],
  ])('%s', async (_, outcomeKnown, answers) => {
    expect(await answered(answers)).toMatchObject({
      code: 'STORE_UNAVAILABLE',
      lockName: 'e',
      outcomeKnown,
    });
  });
});

describe('a call of which an answer is missing', () => {
  it('is repeated with the end that it had (E2)', async () => {
    const ends = await endsOf([none, lost, lost, stored]);
    expect(ends).toHaveLength(3);
    expect(new Set(ends).size).toBe(1);
  });

  it('is made anew, with a later end, once the server says that it came too late', async () => {
    const [first = NaN, second, third = NaN] = await endsOf([none, lost, late, stored]);
    expect(second).toBe(first);
    expect(third).toBeGreaterThan(first);
  });
});
