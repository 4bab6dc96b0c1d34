import { uniformInt } from 'pure-rand/distribution/uniformInt';
import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus';

/** All chance of a run comes from one number, so that its plan can be drawn again. */
export interface Random {
  /** A whole number, both bounds included. */
  between(min: number, max: number): number;
  /** True in so many of a hundred cases. */
  percent(share: number): boolean;
  pick<const T>(list: readonly [T, ...T[]]): T;
}

export function randomFrom(seed: number): Random {
  const generator = xoroshiro128plus(seed);
  const between = (min: number, max: number): number => uniformInt(generator, min, max);
  return {
    between,
    percent: (share) => between(1, 100) <= share,
    pick: (list) => list[between(0, list.length - 1)] ?? list[0],
  };
}
