import { CROWDS } from '../crowd-figures.js';
import type { Crowded } from '../crowd-figures.js';
import type { LoadName } from '../peers/libraries.js';
import type { Place } from './connections.js';
import type { Cycles } from './many-names.js';
import { RemoteTeam } from './remote-process.js';

/** Opens the connections and compiles the code. */
const WARM_UP_MS = 700;

/** A load and the server that it runs on. */
export interface ServedLoad {
  readonly load: LoadName;
  readonly place: Place;
  readonly serverPids: readonly number[];
}

export interface CrowdPace {
  readonly rounds: number;
  readonly blockMs: number;
}

/** Each load runs in a process of its own. The loads take turns, block after block. */
export async function measureCrowds(
  loads: readonly ServedLoad[],
  { rounds, blockMs }: CrowdPace,
  place: Place,
): Promise<Crowded> {
  await using team = await RemoteTeam.start(loads.length, place);
  const cycle = async (index: number, atOnce: number, forMs: number): Promise<readonly Cycles[]> => {
    const { serverPids = [] } = loads[index] ?? {};
    const found = await team.members[index]?.ask('cycle', { atOnce, forMs, serverPids });
    return found === undefined ? [] : [found];
  };
  for (const [index, { load, place: own }] of loads.entries()) {
    await team.members[index]?.ask('open', load, own);
    await cycle(index, Math.max(...CROWDS), WARM_UP_MS);
  }
  const blocks = new Map(
    loads.map(({ load }) => [load, new Map(CROWDS.map((atOnce): [number, Cycles[]] => [atOnce, []]))]),
  );
  for (let round = 0; round < rounds; round += 1) {
    for (const atOnce of CROWDS) {
      for (const [index, { load }] of loads.entries()) {
        blocks
          .get(load)
          ?.get(atOnce)
          ?.push(...(await cycle(index, atOnce, blockMs)));
      }
    }
  }
  return blocks;
}
