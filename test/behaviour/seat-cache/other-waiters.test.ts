import { expect, it } from 'vitest';

import { OtherWaiters } from '../../../src/lease/seat-cache/other-waiters.js';
import { ManualClock } from '../../support/manual-clock.js';

it('an answer to a request that was sent before a notice of a waiter does not outdo the notice, even after forget()', () => {
  const clock = new ManualClock();
  const others = new OtherWaiters({ clock, gaplessSinceMs: () => 0 });
  const sentMs = clock.nowMs();
  clock.advance(1);
  others.oneWaits();
  others.forget();
  others.noneSeen(sentMs);
  expect(others.state).toBe('unknown');
  clock.advance(1);
  others.noneSeen(clock.nowMs());
  expect(others.isNone).toBe(true);
});
