import { setTimeout as sleep } from 'node:timers/promises';

export { sleep };

/**
 * Milliseconds of the monotonic clock that all processes of a machine share, so that events of two processes can be put
 * in order. (`performance.now()` counts from the start of each process.)
 */
export const monotonicMs = (): number => Number(process.hrtime.bigint()) / 1e6;

/** The time that the call takes, in ms. */
export async function timeOf(call: () => Promise<unknown>): Promise<number> {
  const startedMs = performance.now();
  await call();
  return performance.now() - startedMs;
}

/** Calls again and again until the time is over; the time of each call, in ms. */
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

/** The times of one call, by block and round. */
export type Blocks = readonly (readonly number[])[];

/** Makes all calls in turn, again and again, so that a slow minute is slow for all of them. */
export async function inTurn(
  blocks: number,
  rounds: number,
  calls: readonly (() => Promise<number>)[],
): Promise<readonly Blocks[]> {
  const tookMs = calls.map(() => Array.from({ length: blocks }, (): number[] => []));
  for (let turn = 0; turn < blocks * rounds; turn += 1) {
    for (const [index, call] of calls.entries())
      tookMs[index]?.[Math.floor(turn / rounds)]?.push(await call());
  }
  return tookMs;
}
