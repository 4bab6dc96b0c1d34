import { describe, expect, it } from 'vitest';

import { pause, within } from '../../../../lab/patience.js';
import { LockWorld } from '../lock-world.js';
import type { Subject } from '../lock-world.js';

const ACQUIRERS = 100;

/** Many requests at once. No other test of the file runs beside them, because they keep the machine busy. */
export function contending(subject: Subject): void {
  describe('a hundred acquirers through a hundred lock objects', () => {
    const placements = [
      ['in one provider', 1],
      ['in two providers', 2],
    ] as const;

    it.each(placements)(
      '%s hold the lock one at a time, and each gets its turn (S1, L1)',
      async (_, providers) => {
        await using world = new LockWorld(subject);
        const name = await world.name();
        let inside = 0;
        let most = 0;
        const tokens: number[] = [];
        const acquirers = Array.from({ length: ACQUIRERS }, async (_each, index) => {
          const lock = index % providers === 0 ? world.openHere(name) : world.openThere(name);
          await lock.use(async (hold) => {
            inside += 1;
            most = Math.max(most, inside);
            tokens.push(...subject.adapter.tokensOf(hold).slice(0, 1));
            await pause(1);
            hold.assertHeld();
            inside -= 1;
          });
        });
        await within(120_000, 'every acquirer has held the lock', Promise.all(acquirers));
        expect(most).toBe(1);
        expect(inside).toBe(0);
        expect(tokens).toHaveLength(ACQUIRERS);
        expect(tokens).toEqual([...new Set(tokens)].sort((a, b) => a - b));
        await world.untilWaiting(name, 0);
      },
    );
  });
}
