import { pause } from '../../../lab/patience.js';
import type { Random } from '../../../lab/random.js';
import type { Fault, FaultWorld } from './fault-world.js';

/** A fault that is not possible here, and why. */
export interface LeftOut {
  readonly number: number;
  readonly why: string;
}

const told = new Set<number>();

/** Prints each of them once. */
export function tellLeftOut(missing: readonly LeftOut[]): void {
  for (const { number, why } of missing) {
    if (!told.has(number)) console.log(`fault ${number} is left out: ${why}`);
    told.add(number);
  }
}

/**
 * Lets one of these faults happen after the other until the time is over. The order is drawn, and no fault is left out.
 * Faults with an excuse come first, so that they happen for sure. Without any fault, only time passes.
 */
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
  const rank = ({ excuses = [] }: Fault): number => (excuses.length > 0 ? 1 : 0);
  // The last one is taken first.
  return drawn.sort((a, b) => rank(a.fault) - rank(b.fault) || a.at - b.at).map(({ fault }) => fault);
}
