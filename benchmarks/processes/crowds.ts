import { median, percentile, sum } from '../../lab/statistics.js';
import type { LoadName } from '../peers/libraries.js';
import type { Place } from './connections.js';
import type { Cycles } from './many-names.js';
import { RemoteTeam } from './remote-process.js';

/** How many locks are taken at once; one after the other first, so that each figure has its beginning. */
export const CROWDS = [1, 16, 64, 256] as const;

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

/** The blocks of each load, by how many locks are taken at once; one block for each round. */
export type Crowded = ReadonlyMap<LoadName, ReadonlyMap<number, readonly Cycles[]>>;

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

export const blocksOf = (crowded: Crowded, load: LoadName, atOnce: number): readonly Cycles[] =>
  crowded.get(load)?.get(atOnce) ?? [];

/** The figures of a block by which two loads are compared. */
export const FIGURES = {
  'cycles per second': ({ count, ms }: Cycles) => (1_000 * count) / ms,
  'client CPU a cycle': ({ clientMs, count }: Cycles) => clientMs / count,
  'server CPU a cycle': ({ serverMs, count }: Cycles) => serverMs / count,
} as const;

/** In each round, the figure of a load divided by that of another one. */
export function ratiosOf(
  crowded: Crowded,
  figure: keyof typeof FIGURES,
  { of, to, atOnce }: { readonly of: LoadName; readonly to: LoadName; readonly atOnce: number },
): readonly number[] {
  const valuesOf = (load: LoadName): readonly number[] =>
    blocksOf(crowded, load, atOnce).map(FIGURES[figure]);
  const others = valuesOf(to);
  return valuesOf(of).map((value, round) => value / (others[round] ?? NaN));
}

export const CROWD_HEAD = [
  ...['', 'cycles/s', 'p50, ms', 'p99, ms', 'client CPU a cycle, µs', 'server CPU a cycle, µs'],
] as const;

/** One row for each load and each crowd, under {@link CROWD_HEAD}; of the blocks of a load, the median rate counts. */
export const rowsOf = (crowded: Crowded): readonly (readonly [string, ...number[]])[] =>
  CROWDS.flatMap((atOnce) =>
    [...crowded.keys()].map((load): [string, ...number[]] => {
      const blocks = blocksOf(crowded, load, atOnce);
      const tookMs = blocks.flatMap((block) => block.tookMs);
      const cycles = sum(blocks.map(({ count }) => count));
      return [
        `${load}, ${atOnce} at once`,
        median(blocks.map(FIGURES['cycles per second'])),
        ...[median(tookMs), percentile(tookMs, 0.99)],
        (1_000 * sum(blocks.map(({ clientMs }) => clientMs))) / cycles,
        (1_000 * sum(blocks.map(({ serverMs }) => serverMs))) / cycles,
      ];
    }),
  );
