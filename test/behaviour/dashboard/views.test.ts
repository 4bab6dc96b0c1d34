import { describe, expect, it } from 'vitest';

import { Views } from '../../../src/dashboard/views.js';
import type { Aged } from '../../../src/dashboard/views.js';
import { ManualClock } from '../../support/manual-clock.js';

/** Views each of which takes 100 ms, and how often each filter was looked up. */
class World {
  readonly clock = new ManualClock();
  readonly views = new Views<object>(this.clock);
  readonly made = new Map<string, number>();
  readonly joined = new Set<string>();

  /** A viewer with this filter connects. */
  join(filter: string): void {
    this.joined.add(filter);
    this.views.join(filter);
  }

  look(filter: string): Aged<object> | undefined {
    if (!this.joined.has(filter)) this.join(filter);
    return this.views.of(filter, () => {
      this.clock.moveWithoutTimers(100);
      this.made.set(filter, (this.made.get(filter) ?? 0) + 1);
      return {};
    });
  }

  /** Asks again and again, as a viewer does, until there is a view. */
  ask(filter: string): object {
    for (let asked = 0; asked < 1_000; asked += 1) {
      const seen = this.look(filter);
      if (seen !== undefined) return seen.view;
      this.clock.advance(500);
    }
    throw new Error(`there is no view of ${filter}`);
  }

  /** Takes the time that is saved up for new filters. */
  spend(): void {
    for (let at = 0; this.look(`spent ${String(at)}`) !== undefined; at += 1);
  }

  get makings(): number {
    return [...this.made.values()].reduce((sum, times) => sum + times, 0);
  }
}

describe('the views of a board', () => {
  it('are made once for all viewers until the board changes', () => {
    const world = new World();
    const view = world.ask('a');
    world.clock.advance(4_000);
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
      const lookAtAll = (): void => {
        world.clock.advance(500);
        world.views.changed();
        for (const filter of filters) world.look(filter);
      };
      while (world.made.size < count) lookAtAll();
      const before = new Map(world.made);
      const [startedMs, spanMs] = [world.clock.nowMs(), 400_000];
      while (world.clock.nowMs() < startedMs + spanMs) lookAtAll();
      const again = filters.map((filter) => (world.made.get(filter) ?? 0) - (before.get(filter) ?? 0));
      const total = again.reduce((sum, times) => sum + times, 0);
      expect(total * 100).toBeLessThanOrEqual(spanMs / 5 + 200);
      expect(Math.min(...again)).toBeGreaterThanOrEqual(Math.max(...again) - 2);
      expect(Math.min(...again)).toBeGreaterThanOrEqual(3);
    },
  );

  it('of filters that nobody asks for any more do not delay the others', () => {
    const world = new World();
    for (let at = 0; at < 50; at += 1) world.ask(`old ${String(at)}`);
    world.clock.advance(5_001);
    world.views.changed();
    const view = world.ask('new');
    world.clock.advance(1_000);
    world.views.changed();
    expect(world.ask('new')).not.toBe(view);
  });

  it('of new filters take no more than a fifth of the time, and do not stop the view that a viewer has', () => {
    const world = new World();
    world.ask('known');
    const [startedMs, spanMs, made] = [world.clock.nowMs(), 200_000, world.makings];
    for (let at = 0; world.clock.nowMs() < startedMs + spanMs; at += 1) {
      world.look(`new ${String(at)}`);
      world.clock.advance(10);
      if (at % 50 === 0) world.views.changed();
      world.look('known');
    }
    expect((world.makings - made) * 100).toBeLessThanOrEqual(spanMs / 5 + 200);
    expect(world.made.get('known')).toBeGreaterThanOrEqual(10);
    expect(world.makings - (world.made.get('known') ?? 0)).toBeGreaterThanOrEqual(50);
  });

  it('of viewers that read seldom leave a new filter the time for its first search', () => {
    const world = new World();
    const seldom = Array.from({ length: 80 }, (_, at) => `seldom ${String(at)}`);
    for (const filter of seldom) world.ask(filter);
    world.spend();
    // One of them asks every 240 ms, so each of them asks every 19.2 s.
    const askInTurn = (asked: number): void => {
      world.clock.advance(240);
      world.views.changed();
      world.look(seldom[asked % seldom.length] ?? '');
    };
    for (let asked = 0; asked < 300; asked += 1) askInTurn(asked);
    let seen: Aged<object> | undefined;
    for (let asked = 0; asked < 300 && seen === undefined; asked += 1) {
      askInTurn(asked);
      seen = world.look('new');
    }
    expect(seen).toBeDefined();
  });

  it('are kept while a viewer is connected, however long it does not read', () => {
    const world = new World();
    world.ask('a');
    world.clock.advance(3_600_000);
    world.views.changed();
    world.spend();
    expect(world.look('a')).toBeDefined();
  });

  it('are forgotten when the last viewer with the filter leaves', () => {
    const world = new World();
    const view = world.ask('a');
    world.join('a');
    world.views.leave('a');
    expect(world.ask('a')).toBe(view);
    world.views.leave('a');
    world.join('a');
    world.spend();
    expect(world.look('a')).toBeUndefined();
    expect(world.ask('a')).not.toBe(view);
  });

  it('are made for no filter without a viewer', () => {
    const { views } = new World();
    expect(views.of('a', () => ({}))).toBeUndefined();
    views.join('a');
    views.leave('a');
    expect(views.of('a', () => ({}))).toBeUndefined();
  });

  it('have an age if the board has changed since they were made', () => {
    const world = new World();
    world.ask('a');
    world.ask('b');
    world.clock.advance(300);
    expect(world.look('a')?.ageMs).toBe(0);
    world.views.changed();
    expect(world.look('a')?.ageMs).toBeGreaterThanOrEqual(300);
  });
});
