import { describe, expect, it, vi } from 'vitest';
import { after, momentNow } from '../../../src/clock.js';
import { HeldLease } from '../../../src/lease/holding/held-lease.js';
import type { Lease } from '../../../src/protocol/lock-document.js';
import { mutexSeats } from '../../../src/protocol/kinds/mutex-seats.js';
import { ManualClock } from '../../support/manual-clock.js';

const TERMS = { leaseMs: 3_000, extendEveryMs: 1_000, clockAllowanceMs: 300, retentionMs: 6_000 };

function hold(clock: ManualClock, leftMs = 2_700) {
  const owner = { lost: vi.fn(), doubtful: vi.fn() };
  const grant = {
    name: 'n',
    seats: mutexSeats,
    id: 'w1',
    token: 7,
    terms: TERMS,
    demand: {},
    deadline: after(momentNow(clock), leftMs),
  };
  const lease = new HeldLease(grant, clock, owner);
  const observer = { lost: vi.fn(), releaseRequestedNow: vi.fn() };
  lease.observe(observer);
  return { lease, onLost: owner.lost, onDoubt: owner.doubtful, observer };
}

describe('a hold', () => {
  it('reports its loss at its deadline, without an answer from the store (L4)', () => {
    const clock = new ManualClock();
    const { lease, onLost, observer } = hold(clock);
    clock.advance(2_699);
    expect(lease.isHeld).toBe(true);
    expect(lease.remainingMs).toBe(1);
    clock.advance(1);
    expect(lease.isHeld).toBe(false);
    expect(onLost).toHaveBeenCalledExactlyOnceWith(lease, 'expired', true);
    expect(observer.lost).toHaveBeenCalledExactlyOnceWith('expired');
    expect(clock.alarms).toBe(0);
  });

  it('is not held at the first check after a blocked event loop, before any timer has fired (E18)', () => {
    const clock = new ManualClock();
    const { lease } = hold(clock);
    clock.moveWithoutTimers(5_000);
    expect(lease.isHeld).toBe(false);
    expect(lease.remainingMs).toBe(0);
    expect(lease.ended).toBe('expired');
  });

  it('moves its deadline with an extension, and never backwards', () => {
    const clock = new ManualClock();
    const { lease } = hold(clock);
    lease.extendTo(after(momentNow(clock), 5_000));
    lease.extendTo(after(momentNow(clock), 1_000));
    expect(lease.remainingMs).toBe(5_000);
    clock.advance(4_999);
    expect(lease.isHeld).toBe(true);
  });

  it('is not revived by an extension that succeeds after its deadline', () => {
    const clock = new ManualClock();
    const { lease, onLost } = hold(clock);
    // The timer has not fired yet, but the deadline has passed.
    clock.moveWithoutTimers(2_700);
    lease.extendTo(after(momentNow(clock), 3_000));
    expect(lease.isHeld).toBe(false);
    clock.advance(0);
    expect(onLost).toHaveBeenCalledOnce();
    lease.extendTo(after(momentNow(clock), 3_000));
    expect(lease.isHeld).toBe(false);
  });

  it('is doubtful after the machine slept, until an extension confirms it (E19)', () => {
    const clock = new ManualClock();
    const { lease, onDoubt, onLost } = hold(clock);
    clock.suspend(301);
    expect(lease.isHeld).toBe(false);
    expect(lease.remainingMs).toBe(0);
    expect(onDoubt).toHaveBeenCalledExactlyOnceWith(lease);
    expect(onLost).not.toHaveBeenCalled();
    lease.extendTo(after(momentNow(clock), 2_800));
    expect(lease.isHeld).toBe(true);
    expect(onDoubt).toHaveBeenCalledOnce();
  });

  it('stays doubtful after an extension that was sent before the machine slept', () => {
    const clock = new ManualClock();
    const { lease } = hold(clock);
    const deadline = after(momentNow(clock), 2_900);
    clock.suspend(300_000);
    lease.extendTo(deadline);
    expect(lease.isHeld).toBe(false);
  });

  it('is doubtful from the start when the machine slept between the request and its grant', () => {
    const clock = new ManualClock();
    const deadline = after(momentNow(clock), 2_700);
    clock.suspend(300_000);
    const owner = { lost: vi.fn(), doubtful: vi.fn() };
    const grant = { name: 'n', seats: mutexSeats, id: 'w1', token: 7, terms: TERMS, demand: {}, deadline };
    expect(new HeldLease(grant, clock, owner).isHeld).toBe(false);
    expect(owner.doubtful).toHaveBeenCalledOnce();
  });

  it('ignores a wall clock that is set back, or that drifts within the allowance', () => {
    const clock = new ManualClock();
    const { lease, onDoubt } = hold(clock);
    clock.suspend(-3_600_000);
    expect(lease.isHeld).toBe(true);
    clock.suspend(3_600_000 + 299);
    expect(lease.isHeld).toBe(true);
    expect(onDoubt).not.toHaveBeenCalled();
  });

  it('is released only once, and reports no loss afterwards', () => {
    const clock = new ManualClock();
    const { lease, onLost, observer } = hold(clock);
    expect(lease.release()).toBe(true);
    expect(lease.release()).toBe(false);
    clock.advance(10_000);
    lease.lose('evicted');
    expect(onLost).not.toHaveBeenCalled();
    expect(observer.lost).not.toHaveBeenCalled();
    expect(lease.ended).toBe('released');
    expect(clock.alarms).toBe(0);
  });

  it('cannot be released once it is lost', () => {
    const clock = new ManualClock();
    const { lease } = hold(clock);
    lease.lose('evicted');
    expect(lease.release()).toBe(false);
    expect(lease.ended).toBe('evicted');
  });

  it('passes on a request to release only once', () => {
    const clock = new ManualClock();
    const { lease, observer } = hold(clock);
    expect(lease.requestRelease()).toBe(true);
    expect(lease.requestRelease()).toBe(false);
    expect(observer.releaseRequestedNow).toHaveBeenCalledOnce();
    expect(lease.wasAskedToRelease).toBe(true);
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
      const { lease } = hold(new ManualClock());
      expect(lease.recognises(stored(7), 7)).toBe(true);
      expect(lease.recognises(stored(8), 7)).toBe(false);
      expect(lease.recognises(stored(6), 7)).toBe(false);
      expect(lease.recognises(stored(7, 'w2'), 7)).toBe(false);
    });

    it('by a higher token while its change of mode is in flight', () => {
      const { lease } = hold(new ManualClock());
      lease.changing();
      expect(lease.recognises(stored(8), 7)).toBe(true);
      expect(lease.recognises(stored(6), 7)).toBe(false);
    });

    it('by every token that it has had since the read was sent', () => {
      const { lease } = hold(new ManualClock());
      for (const token of [8, 9]) {
        lease.changing();
        lease.changed(token);
      }
      expect(lease.token).toBe(9);
      for (const token of [7, 8, 9]) expect(lease.recognises(stored(token), 7)).toBe(true);
      expect(lease.recognises(stored(10), 7)).toBe(false);
      expect(lease.recognises(stored(8), 9)).toBe(false);
    });
  });
});
