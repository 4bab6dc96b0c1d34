import { describe, expect, it } from 'vitest';

import type { PermitHandle, Semaphore } from '../../../../src/index.js';
import { pause, within } from '../../../../lab/patience.js';
import type { OwnSubject } from '../two-providers.js';
import { SemaphoreWorld } from '../semaphore-world.js';
import { expectNobodyStarves } from '../steady-load.js';

/** Counts the permits that are held at the same time. */
class Room {
  readonly seen = new Set<number>();
  #inside = 0;

  get inside(): number {
    return this.#inside;
  }

  async visit({ permits }: PermitHandle, stayMs: number): Promise<void> {
    this.#inside += permits;
    this.seen.add(this.#inside);
    await pause(stayMs);
    this.#inside -= permits;
  }
}

/** Many requests at once. No other test of the file runs beside them, because they keep the machine busy. */
export function contending(subject: OwnSubject): void {
  const open = (world: SemaphoreWorld, index: number): Semaphore =>
    world.open(index % 2 === 0 ? world.here : world.there);

  describe('under contention for permits', () => {
    it('ten workers in 25 rounds on three permits hold one, two or three together, and never more (S1)', async () => {
      await using world = await SemaphoreWorld.opened(subject, 3, { pollMs: { min: 5, max: 50 } });
      const room = new Room();
      const workers = Array.from({ length: 10 }, async (_, index) => {
        const semaphore = open(world, index);
        for (let round = 0; round < 25; round += 1) {
          await semaphore.use((hold) => room.visit(hold, 1));
        }
      });
      await within(120_000, 'all rounds', Promise.all(workers));
      expect([...room.seen].sort()).toEqual([1, 2, 3]);
      expect(room.inside).toBe(0);
      await world.expectAvailable(3);
    });

    it('a hundred tasks on ten permits run ten at a time, and never more (S1, L1)', async () => {
      await using world = await SemaphoreWorld.opened(subject, 10);
      const room = new Room();
      const tasks = Array.from({ length: 100 }, (_, index) =>
        open(world, index).use((hold) => room.visit(hold, 30)),
      );
      await within(120_000, 'all tasks', Promise.all(tasks));
      expect(Math.max(...room.seen)).toBe(10);
      expect(room.inside).toBe(0);
      await world.untilWaiting(0);
      await world.expectAvailable(10);
    });

    it('tasks of different sizes use up the limit together, and never exceed it (S1, L1)', async () => {
      await using world = await SemaphoreWorld.opened(subject, 7);
      const room = new Room();
      const tasks = Array.from({ length: 60 }, (_, index) =>
        open(world, index).use((hold) => room.visit(hold, 3), { permits: 1 + ((index * 5) % 7) }),
      );
      await within(120_000, 'all tasks', Promise.all(tasks));
      expect(Math.max(...room.seen)).toBe(7);
      expect(room.inside).toBe(0);
    });

    it('an endless load of small requests does not delay a large one beyond those ahead of it', async () => {
      await using world = await SemaphoreWorld.opened(subject, 3, { pollMs: { min: 5, max: 30 } });
      await expectNobodyStarves(world, {
        load: (locks) => world.open(locks).acquire(),
        probe: (locks) => world.open(locks).acquire({ permits: 3 }),
      });
    });

    it('an endless load of large requests does not delay a small one beyond those ahead of it', async () => {
      await using world = await SemaphoreWorld.opened(subject, 3, { pollMs: { min: 5, max: 30 } });
      await expectNobodyStarves(world, {
        load: (locks) => world.open(locks).acquire({ permits: 3 }),
        probe: (locks) => world.open(locks).acquire(),
      });
    });
  });
}
