import fc from 'fast-check';
import { expect } from 'vitest';

import { byBreadth } from '../../support/breadth.js';
import { Coverage } from './coverage.js';
import { LockDocumentDriver } from '../documents/lock-document-driver.js';
import type { TestedKind } from '../documents/lock-kinds.js';
import { ModelRun } from './model-run.js';
import { history } from './random-updates.js';
import { drawSeed } from '../../support/seed.js';

/** Histories run side by side on locks of their own, since a single one mostly waits for the network. */
const LANES = 8;
const MAX_EVENTS = 20;

export const HISTORIES = Number(process.env['LEASEHOLD_HISTORIES'] ?? byBreadth(40, 600));

/** The rarest happening comes about 6 times in 600 histories. With fewer histories it may be missing. */
const ENOUGH = 600;

/** The happenings that were too rare in these histories. */
export const missedBy = (coverage: Coverage): readonly unknown[] =>
  HISTORIES < ENOUGH ? [] : coverage.rarerThan(HISTORIES / ENOUGH);

/** Plays random histories of locks of this kind on the model and on this server, and counts what happens. */
export async function playHistories(uri: string, kind: TestedKind): Promise<Coverage> {
  await using driver = new LockDocumentDriver(uri, kind.rules);
  const { kind: name } = kind.model;
  const seed = drawSeed(`reference model, ${name}`);
  const coverage = new Coverage(name);
  let played = 0;
  const lane = async (index: number): Promise<void> => {
    const property = fc.asyncProperty(history(name, MAX_EVENTS), async (events) => {
      const run = new ModelRun(driver, kind, `lock-${index}-${(played += 1)}`, coverage);
      for (const event of events) await run.play(event);
      await run.finish();
    });
    await fc.assert(property, { seed: seed + index, numRuns: Math.ceil(HISTORIES / LANES) });
  };
  const lanes = await Promise.allSettled(Array.from({ length: LANES }, (_, index) => lane(index)));
  for (const ended of lanes) if (ended.status === 'rejected') throw ended.reason;
  expect(played).toBeGreaterThanOrEqual(HISTORIES);
  return coverage;
}
