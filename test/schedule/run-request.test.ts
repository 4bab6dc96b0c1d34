import { describe, expect, it } from 'vitest';

import { systemClock } from '../../src/clock.js';
import { StoreUnavailableError } from '../../src/errors.js';
import type { AcquisitionContext } from '../../src/lease/acquiring/acquisition-context.js';
import type { CallAnswer } from '../../src/schedule/job-ledger.js';
import { RunRequest } from '../../src/schedule/run-request.js';
import { ServerTime } from '../../src/schedule/server-time.js';
import { rejection } from '../support/patience.js';

const lost: CallAnswer = { cause: new Error('the answer was lost') };
const late: CallAnswer = 'late';
const refusal: CallAnswer = new StoreUnavailableError('e', true, new Error('not permitted'));
const none: CallAnswer = { asked: 0, claimed: 0 };
const stored: CallAnswer = { asked: 1, claimed: 0 };

/** What a request rejects with that is answered so, the last answer again and again, and whose run nobody claims. */
async function answered(answers: readonly CallAnswer[], ends: number[] = []): Promise<unknown> {
  let asked = 0;
  const request = new RunRequest({
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
      claimedCall: () => Promise.resolve(undefined),
    },
    boundMs: 50,
    stored: () => undefined,
  });
  return await rejection(request.run());
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
    const ends: number[] = [];
    await answered([none, lost, lost, stored, none], ends);
    const [, ...ofCall] = ends;
    expect(new Set(ofCall.slice(0, 3)).size).toBe(1);
  });

  it('is made anew, with a later end, once the server says that it came too late', async () => {
    const ends: number[] = [];
    await answered([none, lost, late, stored, none], ends);
    const [, first = NaN, second, third = NaN] = ends;
    expect(second).toBe(first);
    expect(third).toBeGreaterThan(first);
  });
});
