import { describe, expect, inject, it } from 'vitest';

import { SEMAPHORE } from './documents/lock-kinds.js';
import { HISTORIES, missedBy, playHistories } from './histories/play-histories.js';

describe('the document of a semaphore', () => {
  it(
    `matches the reference model after every step of ${HISTORIES} random histories, and so do the replies`,
    { timeout: 600_000 },
    async () => {
      const coverage = await playHistories(inject('mongoUri'), SEMAPHORE);
      expect(missedBy(coverage)).toEqual([]);
    },
  );
});
