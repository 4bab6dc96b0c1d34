// The figures of many locks that are taken at once.
import { median, percentile, sum } from '../lab/statistics.js';
import type { LoadName } from './peers/libraries.js';
import type { Cycles } from './processes/many-names.js';

/** How many locks are taken at once; one after the other first, so that each figure has its beginning. */
export const CROWDS = [1, 16, 64, 256] as const;

/** The blocks of each load, by how many locks are taken at once; one block for each round. */
export type Crowded = ReadonlyMap<LoadName, ReadonlyMap<number, readonly Cycles[]>>;

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
