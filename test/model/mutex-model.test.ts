import { describe, expect, inject, it } from 'vitest';

import { MUTEX } from './documents/lock-kinds.js';
import { HISTORIES, missedBy, playHistories } from './histories/play-histories.js';

describe('the document of a mutex', () => {
  it(
    `matches the reference model after every step of ${HISTORIES} random histories, and so do the replies`,
    { timeout: 600_000 },
    async () => {
      const coverage = await playHistories(inject('mongoUri'), MUTEX);
      expect(missedBy(coverage)).toEqual([]);
    },
  );
});
