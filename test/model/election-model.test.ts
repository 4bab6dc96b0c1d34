import { describe, expect, inject, it } from 'vitest';

import { ELECTION } from './documents/lock-kinds.js';
import { HISTORIES, missedBy, playHistories } from './histories/play-histories.js';

describe('the document of an election', () => {
  it(
    `matches the reference model after every step of ${HISTORIES} random histories, and so do the replies`,
    { timeout: 600_000 },
    async () => {
      const coverage = await playHistories(inject('mongoUri'), ELECTION);
      expect(missedBy(coverage)).toEqual([]);
    },
  );
});
