import { describe, expect, inject, it } from 'vitest';

import { byBreadth } from '../support/breadth.js';
import { SCRIPTS } from './histories/client-scripts.js';
import { drawSchedule, explore } from './histories/interleavings.js';
import type { Script } from './histories/interleavings.js';
import { LockDocumentDriver } from './documents/lock-document-driver.js';
import { ELECTION, MUTEX, READER_WRITER, SEMAPHORE } from './documents/lock-kinds.js';
import { ModelRun } from './histories/model-run.js';
import { drawSeed } from '../support/seed.js';

const LANES = 8;
/** How many schedules of each kind also run on the server. */
const SAMPLE = byBreadth(8, 100);
/** One choice of scripts in this many is explored on the model. The seed draws the first one. */
const ONE_IN = byBreadth(40, 1);

/** Every choice of three scripts, in one order, because the clients are equal. */
function* threeClients(scripts: readonly ((client: number) => Script)[]): Generator<readonly Script[]> {
  for (const [a, first] of scripts.entries()) {
    for (const [b, second] of scripts.entries()) {
      if (b < a) continue;
      for (const third of scripts.slice(b)) yield [first(0), second(1), third(2)];
    }
  }
}

/** Pseudo-random numbers from a seed (Park and Miller 1988). */
function numbersFrom(seed: number): (below: number) => number {
  const prime = 2_147_483_647;
  let state = (seed % (prime - 1)) + 1;
  return (below) => {
    state = Number((BigInt(state) * 48_271n) % BigInt(prime));
    return state % Math.max(1, below);
  };
}

describe.each([
  ['mutex', MUTEX, SCRIPTS.mutex, 100_000],
  ['reader-writer lock', READER_WRITER, SCRIPTS['reader-writer'], 3_000_000],
  ['semaphore', SEMAPHORE, SCRIPTS.semaphore, 500_000],
  ['election', ELECTION, SCRIPTS.election, 500_000],
] as const)('three clients of one %s', (_, kind, scripts, schedulesAtLeast) => {
  const choices = [...threeClients(Object.values(scripts))];

  it('keep every invariant in every interleaving of their operations', { timeout: 600_000 }, () => {
    let [schedules, states] = [0, 0];
    const first = drawSeed(`choices of scripts, ${kind.model.kind}`) % ONE_IN;
    for (const clients of choices.filter((_, index) => index % ONE_IN === first)) {
      const explored = explore(kind.model, clients);
      schedules += explored.schedules;
      states += explored.states;
    }
    console.log(`${kind.model.kind}: ${schedules} interleavings, ${states} states`);
    expect(schedules).toBeGreaterThan(schedulesAtLeast / (2 * ONE_IN));
  });

  it('have the same effects on the server as on the model', async () => {
    await using driver = new LockDocumentDriver(inject('mongoUri'), kind.rules);
    const draw = numbersFrom(drawSeed(`interleavings, ${kind.model.kind}`));
    const sample = Array.from({ length: SAMPLE }, () =>
      drawSchedule(choices[draw(choices.length)] ?? [], draw),
    );
    const waiting = [...sample.entries()];
    const lane = async (): Promise<void> => {
      for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
        const [index, schedule] = next;
        const run = new ModelRun(driver, kind, `schedule-${index}`);
        for (const event of schedule) await run.play(event);
        await run.finish();
      }
    };
    await Promise.all(Array.from({ length: LANES }, lane));
  });
});
