import { describe, expect, it } from 'vitest';
import type { LeaderInfo } from '../../../src/index.js';
import { eventually, later, within } from '../../../lab/patience.js';
import type { TestProvider } from '../../support/test-provider.js';
import { countStreams } from './streams.js';
import { ownDatabase } from '../../support/test-provider.js';

/** Far less than the second for which a stream occupies its connection. */
const PROMPT_MS = 400;

/** The median time of an acquire and a release of a free lock. A machine that is slow now and then does not change it. */
async function usualMs({ locks }: TestProvider, times: number): Promise<number> {
  const tookMs: number[] = [];
  for (let time = 0; time < times; time += 1) {
    const startedMs = performance.now();
    await (await locks.acquireMutex(`free ${String(time)}`)).release();
    tookMs.push(performance.now() - startedMs);
  }
  return tookMs.sort((a, b) => a - b)[times >> 1] ?? NaN;
}

describe.each([
  { maxPoolSize: 2, streams: 1 },
  { maxPoolSize: 3, streams: 2 },
])('a candidate and an observer of one client with a pool of $maxPoolSize', ({ maxPoolSize, streams }) => {
  it(`use ${String(streams)} of its connections for streams, and leave one for everything else`, async () => {
    const database = ownDatabase();
    const options = { leaseMs: 30_000, extendEveryMs: 300, createIndexes: false };
    const small = await database.connected(options, { maxPoolSize });
    const other = await database.connected(options);
    const leader = other.locks.createLeaderElection('e', { candidateId: 'leader' });
    await leader.start();
    await leader.untilElected();

    const lost: unknown[] = [];
    small.locks.on('lost', (event) => lost.push(event));
    const hold = await small.locks.acquireMutex('held');
    const candidate = small.locks.createLeaderElection('e', { candidateId: 'candidate' });
    const told: (LeaderInfo | null)[] = [];
    candidate.on('leader', (info) => told.push(info));
    await candidate.start();
    const elected = later(candidate.untilElected());
    await eventually('the leader is observed', () => told.length === 1);
    await eventually('the streams', async () => (await countStreams(other, small.appName)) === streams);
    expect(await usualMs(small, 20)).toBeLessThan(PROMPT_MS);

    await leader.stop();
    await within(60_000, 'the candidate', elected);
    await eventually('it is observed', () => told.at(-1)?.candidateId === 'candidate');
    expect(await usualMs(small, 20)).toBeLessThan(PROMPT_MS);
    expect(hold.isHeld).toBe(true);
    expect(lost).toEqual([]);
  });
});
