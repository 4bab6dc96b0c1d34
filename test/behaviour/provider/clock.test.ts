import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { systemClock, within } from '../../../src/clock.js';

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

describe('the system clock', () => {
  it('can wait longer than setTimeout, in slices (E43)', () => {
    const fire = vi.fn();
    const thirtyDaysMs = 30 * 86_400_000;
    systemClock.at(systemClock.nowMs() + thirtyDaysMs, fire);
    vi.advanceTimersByTime(thirtyDaysMs - 10);
    expect(fire).not.toHaveBeenCalled();
    vi.advanceTimersByTime(11);
    expect(fire).toHaveBeenCalledOnce();
  });

  it('fires at once for a time in the past, and never after a cancel', () => {
    const fire = vi.fn();
    systemClock.at(systemClock.nowMs() - 1_000, fire);
    vi.advanceTimersByTime(1);
    expect(fire).toHaveBeenCalledOnce();
    const never = vi.fn();
    systemClock.at(systemClock.nowMs() + 10, never).cancel();
    vi.advanceTimersByTime(1_000);
    expect(never).not.toHaveBeenCalled();
  });
});

describe('a bounded promise', () => {
  it('that rejects leaves no timer and no listener behind', async () => {
    const { signal } = new AbortController();
    const forget = vi.spyOn(signal, 'removeEventListener');
    const rejected = within(systemClock, 60_000, Promise.reject(new Error('no')), signal);
    await expect(rejected).rejects.toThrow('no');
    expect(vi.getTimerCount()).toBe(0);
    expect(forget).toHaveBeenCalledOnce();
  });
});
