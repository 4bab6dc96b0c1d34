import { expect, describe, it } from 'vitest';

import { CallEnd } from '../../../src/store/call-end.js';
import { rejection, settled } from '../../../lab/patience.js';
import { ManualClock } from '../../support/manual-clock.js';

const BOUND_MS = 1_000;

/** A call that has just begun, and what it does. */
function call() {
  const clock = new ManualClock();
  const events: string[] = [];
  let follow: ((error: Error) => void) | undefined;
  const end = new CallEnd(clock, BOUND_MS, {
    unanswered: () => new Error('no answer'),
    onFollowed: (callback) => {
      follow = callback;
      return () => (follow = undefined);
    },
    ended: () => events.push('ended'),
  });
  end.signal.addEventListener('abort', () => events.push('given up'));
  end.unanswered.catch(() => events.push('caller told'));
  const pass = async (ms: number): Promise<void> => {
    clock.advance(ms);
    await settled();
  };
  return { clock, end, events, pass, follow: (error: Error) => follow?.(error), isWatched: () => !!follow };
}

describe('the end of a call', () => {
  it('comes for the caller and the driver together if the command was not sent', async () => {
    const { clock, end, events, pass, isWatched } = call();
    await pass(BOUND_MS - 1);
    expect(events).toEqual([]);
    await pass(1);
    expect([...events].sort()).toEqual(['caller told', 'ended', 'given up']);
    expect(await rejection(end.unanswered)).toMatchObject({ message: 'no answer' });
    expect([clock.alarms, isWatched()]).toEqual([0, false]);
  });

  it('comes for the driver as long after the sending as for the caller after the call', async () => {
    const { clock, end, events, pass } = call();
    await pass(800);
    end.sent();
    await pass(200);
    expect(events).toEqual(['caller told']);
    await pass(799);
    expect(events).toEqual(['caller told']);
    await pass(1);
    expect(events).toEqual(['caller told', 'ended', 'given up']);
    expect(clock.alarms).toBe(0);
  });

  it('closes no connection if the answer comes after the caller has gone', async () => {
    const { clock, end, events, pass, isWatched } = call();
    await pass(800);
    end.sent();
    await pass(500);
    end.ended();
    end.ended();
    await pass(10_000);
    expect(events).toEqual(['caller told', 'ended']);
    expect([clock.alarms, isWatched()]).toEqual([0, false]);
  });

  it('comes at once for both if another primary follows, also after the caller has gone', async () => {
    const waiting = call();
    waiting.end.sent();
    waiting.follow(new Error('another primary'));
    expect(await rejection(waiting.end.unanswered)).toMatchObject({ message: 'another primary' });
    expect(waiting.events).toContain('given up');
    const gone = call();
    await gone.pass(800);
    gone.end.sent();
    await gone.pass(300);
    gone.follow(new Error('another primary'));
    expect(gone.events).toEqual(['caller told', 'ended', 'given up']);
    expect(gone.clock.alarms).toBe(0);
  });

  it.each(['before', 'after'])('comes with its caller when the provider was closed %s', async (when) => {
    const { end, events, pass } = call();
    await pass(800);
    end.sent();
    if (when === 'before') end.closed();
    expect(events).toEqual([]);
    await pass(200);
    if (when === 'after') end.closed();
    await settled();
    expect([...events].sort()).toEqual(['caller told', 'ended', 'given up']);
  });
});
