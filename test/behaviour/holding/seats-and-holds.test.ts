import { describe, expect, it, vi } from 'vitest';
import { after, momentNow } from '../../../src/clock.js';
import { Hold } from '../../../src/lease/holding/hold.js';
import { Seat } from '../../../src/lease/holding/seat.js';
import type { Lease } from '../../../src/protocol/lock-document.js';
import { mutexRules } from '../../../src/protocol/kinds/mutex-rules.js';
import { ManualClock } from '../../support/manual-clock.js';

const TERMS = { leaseMs: 3_000, extendEveryMs: 1_000, clockAllowanceMs: 300, retentionMs: 6_000 };

function hold(clock: ManualClock, leftMs = 2_700) {
  const owner = { lost: vi.fn(), doubtful: vi.fn() };
  const grant = {
    name: 'n',
    rules: mutexRules,
    id: 'w1',
    token: 7,
    durations: TERMS,
    demand: {},
    deadline: after(momentNow(clock), leftMs),
  };
  const seat = new Seat(grant, clock, owner);
  const held = new Hold(seat);
  const observer = { lost: vi.fn(), releaseRequestedNow: vi.fn() };
  held.observe(observer);
  return { seat, held, onLost: owner.lost, onDoubt: owner.doubtful, observer };
}

describe('a hold', () => {
  it('reports its loss at its deadline, without an answer from the store (L4)', () => {
    const clock = new ManualClock();
    const { seat, held, onLost, observer } = hold(clock);
    clock.advance(2_699);
    expect(held.checkRemainingMs()).toBe(1);
    clock.advance(1);
    expect(held.checkRemainingMs()).toBe(0);
    expect(onLost).toHaveBeenCalledExactlyOnceWith(seat, [held], 'expired', true);
    expect(observer.lost).toHaveBeenCalledExactlyOnceWith('expired');
    expect(clock.alarms).toBe(0);
  });

  it('is not held at the first check after a blocked event loop, before any timer has fired (E18)', () => {
    const clock = new ManualClock();
    const { held } = hold(clock);
    clock.moveWithoutTimers(5_000);
    expect(held.checkRemainingMs()).toBe(0);
    expect(held.checkEnd()).toBe('expired');
  });

  it('moves its deadline with an extension, and never backwards', () => {
    const clock = new ManualClock();
    const { seat, held } = hold(clock);
    seat.extendTo(after(momentNow(clock), 5_000));
    seat.extendTo(after(momentNow(clock), 1_000));
    expect(held.checkRemainingMs()).toBe(5_000);
    clock.advance(4_999);
    expect(held.checkRemainingMs()).toBeGreaterThan(0);
  });

  it('is not revived by an extension that succeeds after its deadline', () => {
    const clock = new ManualClock();
    const { seat, held, onLost } = hold(clock);
    // The timer has not fired yet, but the deadline has passed.
    clock.moveWithoutTimers(2_700);
    seat.extendTo(after(momentNow(clock), 3_000));
    expect(held.checkRemainingMs()).toBe(0);
    clock.advance(0);
    expect(onLost).toHaveBeenCalledOnce();
    seat.extendTo(after(momentNow(clock), 3_000));
    expect(held.checkRemainingMs()).toBe(0);
  });

  it('is doubtful after the machine slept, until an extension confirms it (E19)', () => {
    const clock = new ManualClock();
    const { seat, held, onDoubt, onLost } = hold(clock);
    clock.suspend(301);
    expect(held.checkRemainingMs()).toBe(0);
    expect(onDoubt).toHaveBeenCalledExactlyOnceWith(seat);
    expect(onLost).not.toHaveBeenCalled();
    seat.extendTo(after(momentNow(clock), 2_800));
    expect(held.checkRemainingMs()).toBeGreaterThan(0);
    expect(onDoubt).toHaveBeenCalledOnce();
  });

  it('relies on no more than the server still grants it after the machine slept (E19)', () => {
    const clock = new ManualClock();
    const { seat, held, onLost } = hold(clock);
    clock.suspend(2_000);
    // The lease is ending, so it was not extended.
    seat.extendTo(after(momentNow(clock), 700));
    expect(held.checkRemainingMs()).toBe(700);
    clock.suspend(2_000);
    seat.extendTo(after(momentNow(clock), -1_300));
    expect(held.checkEnd()).toBe('expired');
    expect(onLost).toHaveBeenCalledOnce();
  });

  it('stays doubtful after an extension that was sent before the machine slept', () => {
    const clock = new ManualClock();
    const { seat, held } = hold(clock);
    const deadline = after(momentNow(clock), 2_900);
    clock.suspend(300_000);
    seat.extendTo(deadline);
    expect(held.checkRemainingMs()).toBe(0);
  });

  it('is doubtful from the start when the machine slept between the request and its grant', () => {
    const clock = new ManualClock();
    const deadline = after(momentNow(clock), 2_700);
    clock.suspend(300_000);
    const owner = { lost: vi.fn(), doubtful: vi.fn() };
    const grant = {
      name: 'n',
      rules: mutexRules,
      id: 'w1',
      token: 7,
      durations: TERMS,
      demand: {},
      deadline,
    };
    expect(new Hold(new Seat(grant, clock, owner)).checkRemainingMs()).toBe(0);
    expect(owner.doubtful).toHaveBeenCalledOnce();
  });

  it('ignores a wall clock that is set back, or that drifts within the allowance', () => {
    const clock = new ManualClock();
    const { held, onDoubt } = hold(clock);
    clock.suspend(-3_600_000);
    expect(held.checkRemainingMs()).toBeGreaterThan(0);
    clock.suspend(3_600_000 + 299);
    expect(held.checkRemainingMs()).toBeGreaterThan(0);
    expect(onDoubt).not.toHaveBeenCalled();
  });

  it('is released only once, and reports no loss afterwards', () => {
    const clock = new ManualClock();
    const { seat, held, onLost, observer } = hold(clock);
    expect(held.release()).toBe(true);
    expect(held.release()).toBe(false);
    expect(seat.giveUp()).toBe(true);
    clock.advance(10_000);
    seat.lose('evicted');
    expect(onLost).not.toHaveBeenCalled();
    expect(observer.lost).not.toHaveBeenCalled();
    expect(held.checkEnd()).toBe('released');
    expect(clock.alarms).toBe(0);
  });

  it('cannot be released once it is lost', () => {
    const clock = new ManualClock();
    const { seat, held } = hold(clock);
    seat.lose('evicted');
    expect(held.release()).toBe(false);
    expect(held.checkEnd()).toBe('evicted');
  });

  it('passes on a request to release only once', () => {
    const clock = new ManualClock();
    const { seat, held, observer } = hold(clock);
    expect(seat.requestRelease()).toEqual([held]);
    expect(seat.requestRelease()).toEqual([]);
    expect(observer.releaseRequestedNow).toHaveBeenCalledOnce();
    expect(held.wasAskedToRelease).toBe(true);
  });

  it('loses and tells nothing when it is only looked at past its deadline', () => {
    const clock = new ManualClock();
    const { held, onLost, observer } = hold(clock);
    clock.moveWithoutTimers(5_000);
    expect(held.standing()).toEqual({ remainingMs: 0, why: 'expired' });
    expect(observer.lost).not.toHaveBeenCalled();
    expect(onLost).not.toHaveBeenCalled();
  });

  describe('recognises a stored lease as its own', () => {
    const stored = (token: number, id = 'w1'): Lease => ({
      id,
      process: 'p',
      leaseMs: 3_000,
      acquiredAt: new Date(0),
      expiresAt: new Date(3_000),
      token,
    });

    it('by its id and token', () => {
      const { seat } = hold(new ManualClock());
      expect(seat.recognises(stored(7), 7)).toBe(true);
      expect(seat.recognises(stored(8), 7)).toBe(false);
      expect(seat.recognises(stored(6), 7)).toBe(false);
      expect(seat.recognises(stored(7, 'w2'), 7)).toBe(false);
    });

    it('by a higher token while its change of mode is in flight', () => {
      const { seat } = hold(new ManualClock());
      seat.changing();
      expect(seat.recognises(stored(8), 7)).toBe(true);
      expect(seat.recognises(stored(6), 7)).toBe(false);
    });

    it('by every token that it has had since the read was sent', () => {
      const { seat, held } = hold(new ManualClock());
      for (const token of [8, 9]) {
        seat.changing();
        held.changed(token);
      }
      expect(held.token).toBe(9);
      for (const token of [7, 8, 9]) expect(seat.recognises(stored(token), 7)).toBe(true);
      expect(seat.recognises(stored(10), 7)).toBe(false);
      expect(seat.recognises(stored(8), 9)).toBe(false);
    });
  });
});

describe('a seat', () => {
  it('ends each of its holds with its loss, before code hears of the end of any of them', () => {
    const { seat, held, onLost } = hold(new ManualClock());
    const other = new Hold(seat);
    expect(other.token).toBe(8);
    const heard: unknown[] = [];
    held.onEnded(() => heard.push(['first', other.checkEnd()]));
    other.onEnded(() => heard.push(['second', held.checkEnd()]));
    seat.lose('evicted');
    expect(heard).toEqual([
      ['first', 'evicted'],
      ['second', 'evicted'],
    ]);
    expect(onLost).toHaveBeenCalledExactlyOnceWith(seat, [held, other], 'evicted', false);
    expect(seat.holds).toEqual([]);
  });

  it('asks each of its holders once to release the lock', () => {
    const { seat, held, observer } = hold(new ManualClock());
    const other = new Hold(seat);
    expect(seat.requestRelease()).toEqual([held, other]);
    expect(seat.requestRelease()).toEqual([]);
    expect([held.wasAskedToRelease, other.wasAskedToRelease]).toEqual([true, true]);
    expect(observer.releaseRequestedNow).toHaveBeenCalledOnce();
  });

  it('outlives its holds, and is given up only when none of them uses it', () => {
    const clock = new ManualClock();
    const { seat, held, onLost } = hold(clock);
    const other = new Hold(seat);
    expect(held.release()).toBe(true);
    expect(other.checkRemainingMs()).toBe(2_700);
    expect(seat.giveUp()).toBe(false);
    expect(other.release()).toBe(true);
    expect(seat.isIdle).toBe(true);
    expect(seat.giveUp()).toBe(true);
    expect(seat.giveUp()).toBe(false);
    clock.advance(5_000);
    expect(onLost).not.toHaveBeenCalled();
    expect(clock.alarms).toBe(0);
  });

  it('leaves a hold that was released before its loss as it is', () => {
    const { seat, held, observer, onLost } = hold(new ManualClock());
    const next = new Hold(seat);
    held.release();
    seat.lose('evicted');
    expect([held.checkEnd(), next.checkEnd()]).toEqual(['released', 'evicted']);
    expect(observer.lost).not.toHaveBeenCalled();
    expect(onLost).toHaveBeenCalledExactlyOnceWith(seat, [next], 'evicted', false);
  });
});
