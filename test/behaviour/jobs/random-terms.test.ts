import { expect, it } from 'vitest';

import { fixedRate } from '../../../src/schedule/schedule.js';
import type { ClaimAnswer } from '../../../src/schedule/job-ledger.js';
import { drawSeed } from '../../support/seed.js';
import { AHEAD_MS, World, taking } from './job-world.js';

const EVERY_MS = 100;
const WORLDS = 150;

/** Pseudo-random numbers from a seed. */
function randomBy(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

/** Plays random terms of one job, with lost answers, stops, lost terms and calls of runNow. */
async function play(random: (below: number) => number): Promise<World> {
  const world: World = new World(fixedRate(EVERY_MS, 0), {
    catchesUp: random(2) === 0,
    run: async (run) => {
      await taking(() => world, [0, 10, 30, 250][random(4)] ?? 0)(run);
    },
  });
  const stops: Promise<void>[] = [];
  for (let terms = 0; terms < 5; terms += 1) {
    const { job, end, stop } = world.term();
    for (let steps = 1 + random(4); steps > 0; steps -= 1) {
      world.claimTakesMs = [0, 0, 20, 130][random(4)] ?? 0;
      const trouble = random(5);
      if (trouble === 0) world.lostAnswers = 1 + random(12);
      if (trouble === 1) {
        world.answers.push(...Array.from({ length: 1 + random(8) }, (): ClaimAnswer => 'unknown'));
      }
      if (random(3) === 0) {
        if (world.calls.asked === world.calls.claimed) world.calls.asked += 1;
        job.called();
      }
      await world.pass(20 * random(20));
    }
    if (random(2) === 0) end();
    else stops.push(stop(random(2) * 300));
    // The next leader may begin while the last one still settles its claims.
    await world.pass(20 * random(30));
  }
  world.lostAnswers = 0;
  world.answers.length = 0;
  world.claimTakesMs = 0;
  const last = world.term();
  await world.pass(1_000);
  await Promise.all([last.stop(0), world.pass(700), ...stops]);
  expect(world.clock.alarms).toBe(0);
  return world;
}

interface Told {
  readonly runs: number;
  readonly missed: number;
  readonly unknown: number;
}

/** How often this instant has run, and was reported as missed or as unknown. */
function toldOf(told: readonly string[], ms: number): Told {
  let [runs, missed, unknown] = [0, 0, 0];
  for (const line of told) {
    const [, event, ...words] = line.split(' ');
    if (event === 'run' && Number(words[0]) === ms) runs += 1;
    if (event !== 'missed' || Number(words[1]) > ms || ms > Number(words[2])) continue;
    if (words[3] === 'unknown') unknown += 1;
    else missed += 1;
  }
  return { runs, missed, unknown };
}

it(`in ${WORLDS} random series of terms, each instant runs once, is reported once as missed, or is reported as unknown`, async () => {
  const seed = drawSeed('terms of a job');
  const seen = { runs: 0, missed: 0, unknown: 0, called: 0 };
  for (let index = 0; index < WORLDS; index += 1) {
    const world = await play(randomBy(seed + index * 7_919));
    const { told, stored, calls } = world;
    const anchorMs = (stored.claimed?.anchorMs ?? NaN) - AHEAD_MS;
    const lastMs = (stored.claimed?.lastMs ?? NaN) - AHEAD_MS;
    const instants = new Set(stored.claims);
    for (let ms = anchorMs; ms <= lastMs; ms += EVERY_MS) instants.add(ms);
    for (const ms of instants) {
      const { runs, missed, unknown } = toldOf(told, ms);
      const words = `world ${index}, instant ${ms}: ${JSON.stringify({ runs, missed, unknown })}\n${told.join('\n')}`;
      expect([runs <= 1, missed <= 1, runs + missed + unknown > 0], words).toEqual([true, true, true]);
      // With `run-once`, the newest missed instant runs as well, under a claim of its own.
      const isBoth = runs === 1 && missed === 1;
      expect(!isBoth || stored.claims.includes(ms), words).toBe(true);
      seen.runs += runs;
      seen.missed += missed;
      seen.unknown += unknown;
    }
    expect(calls.claimed).toBe(calls.asked);
    seen.called += calls.claimed;
  }
  expect(Object.values(seen).every((count) => count >= WORLDS / 10)).toBe(true);
});
