/** The smallest of the values that at least this share of them does not exceed; NaN if there are none. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? NaN;
}

export const median = (values: readonly number[]): number => percentile(values, 0.5);

export const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

/** Jain's index of fairness: 1 if all have the same, 1/n if one has everything. */
export function jainIndex(shares: readonly number[]): number {
  return sum(shares) ** 2 / (shares.length * sum(shares.map((share) => share ** 2)));
}

/** The figures that describe a series of measurements. */
export interface Distribution {
  readonly count: number;
  /** The time of a call that nothing else on the machine disturbed. */
  readonly p10: number;
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
  readonly max: number;
}

export const distributionOf = (values: readonly number[]): Distribution => ({
  count: values.length,
  p10: percentile(values, 0.1),
  p50: percentile(values, 0.5),
  p90: percentile(values, 0.9),
  p99: percentile(values, 0.99),
  max: percentile(values, 1),
});

/** Measurements of the lock and of its floor, one after the other. */
export interface Block {
  readonly lockMs: readonly number[];
  readonly floorMs: readonly number[];
}

/** A lock's time as a multiple of its floor's, from blocks that were measured in turn. */
export interface Ratio {
  /** The median of all lock times divided by the median of all floor times. */
  readonly ofMedians: number;
  /** The median of the ratios of the blocks. */
  readonly medianOfBlocks: number;
  /** The ratio of the calls that nothing else on the machine disturbed. */
  readonly ofP10: number;
  readonly ofBlocks: readonly number[];
  /** True if the blocks agree; if not, the machine was too busy. */
  readonly isSteady: boolean;
}

/** The middle half of the blocks may be this far apart. */
const STEADY_WITHIN = 0.15;

/** True if the middle half of the ratios is not too far apart for their size, which may be far from 1. */
export const agree = (ratios: readonly number[]): boolean =>
  percentile(ratios, 0.75) - percentile(ratios, 0.25) <= STEADY_WITHIN * median(ratios);

export function ratioOf(blocks: readonly Block[]): Ratio {
  const ofBlocks = blocks.map(({ lockMs, floorMs }) => median(lockMs) / median(floorMs));
  const lockMs = blocks.flatMap((block) => block.lockMs);
  const floorMs = blocks.flatMap((block) => block.floorMs);
  return {
    ofMedians: median(lockMs) / median(floorMs),
    medianOfBlocks: median(ofBlocks),
    ofP10: percentile(lockMs, 0.1) / percentile(floorMs, 0.1),
    ofBlocks,
    isSteady: percentile(ofBlocks, 0.75) - percentile(ofBlocks, 0.25) <= STEADY_WITHIN,
  };
}

/** `median of blocks 1.19, at p10 1.17, blocks 1.18 1.19 1.22` */
export function describeRatio({ medianOfBlocks, ofP10, ofBlocks }: Ratio): string {
  const blocks = ofBlocks.map((ratio) => ratio.toFixed(2)).join(' ');
  return `median of blocks ${medianOfBlocks.toFixed(2)}, at p10 ${ofP10.toFixed(2)}, blocks ${blocks}`;
}
