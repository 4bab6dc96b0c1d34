import { expect, it } from 'vitest';

import { HandOverRate } from '../../../src/dashboard/hand-over-rate.js';
import { ManualClock } from '../../support/manual-clock.js';

it('the hand-overs of a second are shown for sixty whole seconds, also when more are counted meanwhile', () => {
  const clock = new ManualClock();
  const rate = new HandOverRate(clock);
  rate.add(7);
  for (let second = 1; second <= 60; second += 1) {
    clock.advance(1_000);
    rate.add(1);
    expect(rate.seconds[60 - second]).toBe(7);
  }
  clock.advance(1_000);
  expect(rate.seconds).not.toContain(7);
});
