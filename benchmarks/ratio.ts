import { median, percentile } from './statistics.js';

/** What was measured of the lock and of its floor, one after the other. */
export interface Block {
  readonly lockMs: readonly number[];
  readonly floorMs: readonly number[];
}

/** A lock's time as a multiple of its floor's, from blocks that were measured in turn. */
export interface Ratio {
  /** Of the medians of everything. */
  readonly ofMedians: number;
  /** The median of the blocks' own ratios. */
  readonly medianOfBlocks: number;
  /** Of the calls that nothing else on the machine disturbed. */
  readonly ofP10: number;
  readonly ofBlocks: readonly number[];
  /** Whether the blocks agree: if not, the machine was too busy to tell. */
  readonly isSteady: boolean;
}

/** How far the middle half of the blocks may be apart. */
const STEADY_WITHIN = 0.15;

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
