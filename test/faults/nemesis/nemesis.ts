import { pause } from '../../support/patience.js';
import type { Random } from '../random.js';
import type { Fault, FaultWorld } from './fault-world.js';

/** Lets one of these faults happen after the other until the time is over; the order is drawn, and none is left out. Without any, time passes. */
export async function letHappen(faults: readonly Fault[], world: FaultWorld, endMs: number): Promise<void> {
  const { random } = world;
  let waiting: Fault[] = [];
  while (performance.now() < endMs) {
    if (waiting.length === 0) waiting = shuffled(faults, random);
    await waiting.pop()?.inject(world);
    await pause(random.between(200, 2_000));
  }
}

function shuffled(faults: readonly Fault[], random: Random): Fault[] {
  const drawn = faults.map((fault) => ({ fault, at: random.between(0, 1_000_000) }));
  return drawn.sort((a, b) => a.at - b.at).map(({ fault }) => fault);
}
