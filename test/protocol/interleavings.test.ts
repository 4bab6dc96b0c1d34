import { afterAll, describe, expect, inject, it } from 'vitest';

import { SCRIPTS, explore } from '../support/interleavings.js';
import { LockDocumentDriver } from '../support/lock-document-driver.js';
import { ModelRun } from '../support/model-run.js';
import type { Event } from '../support/random-updates.js';

const LANES = 8;
/** Every so many schedules, one is played on the server too; a prime, so that no place in the order is favoured. */
const EVERY = 499;

const driver = new LockDocumentDriver(inject('mongoUri'));

afterAll(() => driver[Symbol.asyncDispose]());

/** Every choice of three scripts; which of three equal clients is called the first is of no matter. */
function* threeClients(): Generator<readonly (readonly Event[])[]> {
  const scripts = Object.values(SCRIPTS);
  for (const [a, first] of scripts.entries()) {
    for (const [b, second] of scripts.entries()) {
      if (b < a) continue;
      for (const third of scripts.slice(b)) yield [first(0), second(1), third(2)];
    }
  }
}

interface Explored {
  readonly schedules: number;
  readonly states: number;
  /** A few schedules from everywhere in the order in which they were found. */
  readonly sample: readonly (readonly Event[])[];
}

let found: Explored | undefined;

function exploreAll(): Explored {
  if (found !== undefined) return found;
  const sample: (readonly Event[])[] = [];
  let [schedules, states] = [0, 0];
  for (const clients of threeClients()) {
    const explored = explore(clients, (schedule) => {
      if ((schedules += 1) % EVERY === 0) sample.push(schedule);
    });
    states += explored.states;
  }
  console.log(`interleavings: ${schedules} schedules, ${states} states`);
  found = { schedules, states, sample };
  return found;
}

describe('three clients', () => {
  it('keep every invariant in every interleaving of what they may do', { timeout: 120_000 }, () => {
    expect(exploreAll().schedules).toBeGreaterThan(100_000);
  });

  it('do on the server what they do on the model', { timeout: 120_000 }, async () => {
    const { sample } = exploreAll();
    expect(sample.length).toBeGreaterThan(200);
    const waiting = [...sample.entries()];
    const lane = async (): Promise<void> => {
      for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
        const [index, schedule] = next;
        const run = new ModelRun(driver, `schedule-${index}`, Date.now());
        for (const event of schedule) await run.play(event);
        await run.finish();
      }
    };
    await Promise.all(Array.from({ length: LANES }, lane));
  });
});
