import { expect, it } from 'vitest';

import { randomFrom } from '../../../lab/random.js';
import type { Random } from '../../../lab/random.js';
import { randomName } from '../../support/test-provider.js';
import { nowMs, nowNs, pause } from '../../../lab/patience.js';
import { drawSeed } from '../../support/seed.js';
import { beliefIn, expectDisjoint } from '../processes/beliefs.js';
import type { Belief } from '../processes/beliefs.js';
import { useThreeDeployments } from './deployments.js';

const deployments = useThreeDeployments();

const DURATION_MS = 24_000;
/** The longest hold. */
const HOLD_MS = 60;
const CONTENDERS = 3;
const RESTART_EVERY_MS = 4_000;

/** Takes the lock again and again, and returns when the contender believed that it held the lock. */
async function contend(name: string, isOver: () => boolean, random: Random): Promise<readonly Belief[]> {
  const locks = deployments.provider({ leaseMs: 2_000, storeTimeoutMs: 1_000 });
  const mutex = locks.createMutex(name);
  const beliefs: Belief[] = [];
  while (!isOver()) {
    const lock = await mutex.acquire();
    const belief = beliefIn(lock, nowNs());
    await pause(random.between(0, HOLD_MS));
    const untilNs = nowNs();
    await lock.release();
    // A lost hold was believed in until its deadline.
    beliefs.push({ ...belief, untilNs: untilNs < belief.untilNs ? untilNs : belief.untilNs });
  }
  return beliefs;
}

it(
  'three contenders never hold at once, and their tokens rise, while one deployment after the other restarts',
  { timeout: 240_000 },
  async () => {
    const name = randomName('contended');
    const random = randomFrom(drawSeed('contenders of three deployments'));
    const endMs = nowMs() + DURATION_MS;
    let restarts = 0;
    // Each deployment is restarted at least once, however long that takes.
    const isOver = (): boolean => nowMs() >= endMs && restarts >= deployments.all.length;
    const contending = Promise.all(
      Array.from({ length: CONTENDERS }, () => contend(name, isOver, randomFrom(random.between(0, 1e9)))),
    );
    while (!isOver()) {
      await pause(RESTART_EVERY_MS / 2);
      // Another deployment each time, so that the majorities differ.
      const member = deployments.all[restarts % deployments.all.length];
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
  },
);
