import { describe, expect, it } from 'vitest';

import { systemClock } from '../../../src/clock.js';
import { newAttemptId } from '../../../src/lease/ids.js';
import { settled } from '../../../lab/patience.js';

const randomBitsOf = (id: string): string => id.slice(1, 19);

describe('attempt ids', () => {
  it('differ within a turn of the event loop', () => {
    const ids = Array.from({ length: 100_000 }, () => newAttemptId(systemClock));
    expect(new Set(ids).size).toBe(ids.length);
    for (const id of [ids[0], ids.at(-1)]) expect(id).toMatch(/^w[0-9a-f]{24}$/);
  });

  it('have new random bits in each turn of the event loop (E34)', async () => {
    const bits = new Set<string>();
    for (let turn = 0; turn < 1_000; turn += 1) {
      bits.add(randomBitsOf(newAttemptId(systemClock)));
      await settled();
    }
    expect(bits.size).toBe(1_000);
  });
});
