import type { Block } from '../lab/statistics.js';

/**
 * Milliseconds of the monotonic clock that all processes of a machine share, so that events of two processes can be put
 * in order. (`performance.now()` counts from the start of each process.)
 */
export const monotonicMs = (): number => Number(process.hrtime.bigint()) / 1e6;

export const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** How long the call takes, in ms. */
export async function timeOf(call: () => Promise<unknown>): Promise<number> {
  const startedMs = performance.now();
  await call();
  return performance.now() - startedMs;
}

/** Calls again and again until the time is over; how long each call took, in ms. */
export async function timesFor(
  ms: number,
  call: () => Promise<unknown>,
  pauseMs = 0,
): Promise<readonly number[]> {
  const tookMs: number[] = [];
  for (const endMs = performance.now() + ms; performance.now() < endMs;) {
    tookMs.push(await timeOf(call));
    if (pauseMs > 0) await sleep(pauseMs);
  }
  return tookMs;
}

/** Measures the floor and the lock in turn, so that a slow minute is slow for both. */
export async function inTurn(
  rounds: number,
  measure: {
    readonly floorMs: () => Promise<readonly number[]>;
    readonly lockMs: () => Promise<readonly number[]>;
  },
): Promise<readonly Block[]> {
  const blocks: Block[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const floorMs = await measure.floorMs();
    blocks.push({ floorMs, lockMs: await measure.lockMs() });
  }
  return blocks;
}
