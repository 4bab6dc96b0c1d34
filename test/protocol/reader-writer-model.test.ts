import { describe, expect, inject, it } from 'vitest';

import { READER_WRITER } from '../support/lock-kinds.js';
import { HISTORIES, playHistories } from '../support/play-histories.js';

describe('the document of a reader-writer lock', () => {
  it(
    `is what the reference model says after every step of ${HISTORIES} random histories, and tells it so`,
    { timeout: 600_000 },
    async () => {
      const coverage = await playHistories(inject('mongoUri'), READER_WRITER);
      // The rarest of what is counted is seen about 20 times in 2,000 histories.
      expect(coverage.rarerThan(HISTORIES / 400)).toEqual([]);
    },
  );
});
