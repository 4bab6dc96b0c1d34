import { describe, expect, inject, it } from 'vitest';

import { MUTEX } from './documents/lock-kinds.js';
import { HISTORIES, missedBy, playHistories } from './histories/play-histories.js';

describe('the document of a mutex', () => {
  it(
    `is what the reference model says after every step of ${HISTORIES} random histories, and tells it so`,
    { timeout: 600_000 },
    async () => {
      const coverage = await playHistories(inject('mongoUri'), MUTEX);
      expect(missedBy(coverage)).toEqual([]);
    },
  );
});
