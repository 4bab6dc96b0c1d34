import { expect, it } from 'vitest';

import { randomName } from '../support/own-database.js';
import { pause } from '../support/patience.js';
import { beliefIn, expectDisjoint } from '../processes/beliefs.js';
import type { Belief } from '../processes/beliefs.js';
import { useThreeDeployments } from './three-deployments.js';

const deployments = useThreeDeployments();

const DURATION_MS = 60_000;
const CONTENDERS = 3;
const RESTART_EVERY_MS = 6_000;

/** What this contender believed of each hold, one after the other. */
async function contend(name: string, endMs: number): Promise<readonly Belief[]> {
  const locks = deployments.provider({ leaseMs: 2_000, storeTimeoutMs: 1_000 });
  const mutex = locks.createMutex(name);
  const beliefs: Belief[] = [];
  while (performance.now() < endMs) {
    const lock = await mutex.acquire();
    const belief = beliefIn(lock);
    await pause(Math.random() * 20);
    const untilNs = process.hrtime.bigint();
    await lock.release();
    // Whoever has lost it has believed in it until its deadline.
    beliefs.push({ ...belief, untilNs: untilNs < belief.untilNs ? untilNs : belief.untilNs });
  }
  return beliefs;
}

it(
  'three contenders never hold at once, and tokens rise, though one deployment after the other restarts for a minute',
  { timeout: 4 * DURATION_MS },
  async () => {
    const name = randomName('contended');
    const endMs = performance.now() + DURATION_MS;
    const contending = Promise.all(Array.from({ length: CONTENDERS }, () => contend(name, endMs)));
    let restarts = 0;
    while (performance.now() < endMs) {
      await pause(RESTART_EVERY_MS / 2);
      // So majorities differ from one restart to the next.
      const member = deployments.members[restarts % deployments.members.length];
      await member?.kill();
      await pause(RESTART_EVERY_MS / 2);
      await deployments.heal();
      restarts += 1;
    }
    const beliefs = await contending;
    const counts = beliefs.map(({ length }) => length);
    console.log(`${counts.join(' + ')} holds, ${restarts} restarts`);
    expectDisjoint(beliefs.flat());
    expect(Math.min(...counts)).toBeGreaterThan(10);
    // Each of them once at least.
    expect(restarts).toBeGreaterThanOrEqual(deployments.members.length);
  },
);
