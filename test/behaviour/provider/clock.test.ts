import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { systemClock } from '../../../src/clock.js';

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
