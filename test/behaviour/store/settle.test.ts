import { describe, expect, it } from 'vitest';
import { Backoff } from '../../../src/backoff.js';
import { systemClock } from '../../../src/clock.js';
import type { Settling } from '../../../src/store/settle.js';
import { settle } from '../../../src/store/settle.js';

const backoff = new Backoff(1, 2);

/** Settles a request that is answered so, the last answer again and again, and counts its copies. */
async function settled(
  answers: readonly string[],
  ends: Partial<Settling<string>> = {},
): Promise<{ answer: string; copies: number }> {
  let copies = 0;
  const send = (): Promise<string> => {
    const answer = answers[Math.min(copies, answers.length - 1)] ?? '';
    copies += 1;
    return Promise.resolve(answer);
  };
  const isSettled = (answer: string): boolean => answer !== 'unknown';
  return { answer: await settle(send, { clock: systemClock, backoff, isSettled, ...ends }), copies };
}

describe('a request whose outcome is unknown', () => {
  it('is repeated until it is answered', async () => {
    expect(await settled(['unknown', 'unknown', 'done'])).toEqual({ answer: 'done', copies: 3 });
  });

  it('is not repeated after its deadline', async () => {
    expect(await settled(['unknown'], { untilMs: systemClock.nowMs() })).toEqual({
      answer: 'unknown',
      copies: 1,
    });
  });

  it('is not repeated when the outcome is of no use, also if that turns out during the pause', async () => {
    expect(await settled(['unknown'], { isOver: () => true })).toMatchObject({ copies: 1 });
    let questions = 0;
    const isOver = (): boolean => (questions += 1) > 3;
    expect(await settled(['unknown'], { isOver })).toEqual({ answer: 'unknown', copies: 2 });
  });

  it('is given up by its signal, which ends the pause', async () => {
    const controller = new AbortController();
    const settling = settled(['unknown'], {
      signal: controller.signal,
      backoff: new Backoff(60_000, 60_000),
    });
    setImmediate(() => {
      controller.abort();
    });
    expect(await settling).toEqual({ answer: 'unknown', copies: 1 });
  });

  it('has its answer, although it was given up meanwhile', async () => {
    expect(await settled(['done'], { signal: AbortSignal.abort(), untilMs: 0 })).toMatchObject({
      answer: 'done',
    });
  });
});

describe('a backoff', () => {
  it('doubles its pauses up to its bound, each less up to a half', () => {
    const growing = new Backoff(10, 500);
    expect([0, 1, 2, 5, 6, 2_000].map((failures) => growing.longestMs(failures))).toEqual([
      10, 20, 40, 320, 500, 500,
    ]);
    for (let failures = 0; failures < 10; failures += 1) {
      const longestMs = growing.longestMs(failures);
      const pauseMs = growing.pauseMs(systemClock, failures);
      expect(pauseMs).toBeGreaterThanOrEqual(longestMs / 2);
      expect(pauseMs).toBeLessThanOrEqual(longestMs);
    }
  });
});
