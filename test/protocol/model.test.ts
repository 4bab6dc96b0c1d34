import fc from 'fast-check';
import { afterAll, describe, expect, inject, it } from 'vitest';

import { LockDocumentDriver } from '../support/lock-document-driver.js';
import { ModelRun } from '../support/model-run.js';
import { history } from '../support/random-updates.js';
import { drawSeed } from '../support/seed.js';

/** Histories run side by side on locks of their own, since a single one mostly waits for the network. */
const LANES = 8;
const HISTORIES = Number(process.env['LEASEHOLD_HISTORIES'] ?? 2_000);
const MAX_EVENTS = 20;

const driver = new LockDocumentDriver(inject('mongoUri'));

afterAll(() => driver[Symbol.asyncDispose]());

describe('a lock document', () => {
  it(
    `is what the reference model says after every step of ${HISTORIES} random histories, and tells it so`,
    { timeout: 300_000 },
    async () => {
      const seed = drawSeed('reference model');
      let played = 0;
      const lane = async (index: number): Promise<void> => {
        const property = fc.asyncProperty(history(MAX_EVENTS), async (events) => {
          const run = new ModelRun(driver, `lock-${index}-${(played += 1)}`, Date.now());
          for (const event of events) await run.play(event);
          await run.finish();
        });
        await fc.assert(property, { seed: seed + index, numRuns: Math.ceil(HISTORIES / LANES) });
      };
      const lanes = await Promise.allSettled(Array.from({ length: LANES }, (_, index) => lane(index)));
      for (const ended of lanes) if (ended.status === 'rejected') throw ended.reason;
      expect(played).toBeGreaterThanOrEqual(HISTORIES);
    },
  );
});
