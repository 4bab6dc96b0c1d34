import { describe, expect, it } from 'vitest';

import { Views } from '../../../src/dashboard/views.js';
import { ManualClock } from '../../support/manual-clock.js';

/** Views each of which takes 100 ms, and how often each filter was looked up. */
class World {
  readonly clock = new ManualClock();
  readonly views = new Views<object>(this.clock);
  readonly made = new Map<string, number>();

  ask(filter: string): object {
    return this.views.of(filter, () => {
      this.clock.moveWithoutTimers(100);
      this.made.set(filter, (this.made.get(filter) ?? 0) + 1);
      return {};
    });
  }
}

describe('the views of a board', () => {
  it('are made once for all viewers until the board changes', () => {
    const world = new World();
    const view = world.ask('a');
    world.clock.advance(60_000);
    expect(world.ask('a')).toBe(view);
    world.views.changed();
    expect(world.ask('a')).not.toBe(view);
    expect(world.made.get('a')).toBe(2);
  });

  it.each([1, 20, 100])(
    'take a fifth of the time at most with %d filters, and none is forgotten',
    (count) => {
      const world = new World();
      const filters = Array.from({ length: count }, (_, at) => `filter ${String(at)}`);
      for (const filter of filters) world.ask(filter);
      const [startedMs, spanMs] = [world.clock.nowMs(), 200_000];
      while (world.clock.nowMs() < startedMs + spanMs) {
        world.clock.advance(500);
        world.views.changed();
        for (const filter of filters) world.ask(filter);
      }
      const again = filters.map((filter) => (world.made.get(filter) ?? 0) - 1);
      const total = again.reduce((sum, times) => sum + times, 0);
      expect(total * 100).toBeLessThanOrEqual(spanMs / 5 + count * 100);
      expect(Math.min(...again)).toBeGreaterThanOrEqual(Math.max(...again) - 1);
      expect(Math.min(...again)).toBeGreaterThanOrEqual(3);
    },
  );

  it('of filters that nobody asks for any more do not delay the others', () => {
    const world = new World();
    for (let at = 0; at < 50; at += 1) world.ask(`old ${String(at)}`);
    world.clock.advance(10_001);
    const view = world.ask('new');
    world.clock.advance(501);
    world.views.changed();
    expect(world.ask('new')).not.toBe(view);
  });
});
