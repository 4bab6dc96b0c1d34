import { expect, it } from 'vitest';

import type { JobMissedEvent } from '../../../src/index.js';
import { eventually, within } from '../../../lab/patience.js';
import { failCommands, testProvider, twoProviders, useOwnServer } from '../../support/test-provider.js';
import type { TestProvider } from '../../support/test-provider.js';

useOwnServer();

const EVERY_MS = 500;

/** Makes every claim of this provider fail from now on, and waits for the first one. Returns what heals the server. */
async function failClaims(provider: TestProvider): Promise<() => Promise<void>> {
  const heal = await failCommands(provider, 'alwaysOn', {
    failCommands: ['findAndModify'],
    closeConnection: true,
  });
  const failed = claimsOf(provider);
  await eventually('a claim', () => claimsOf(provider) > failed);
  return heal;
}

/** How many claims were sent. Only a claim may be answered with `outdated`. */
const claimsOf = ({ commands }: TestProvider): number =>
  commands.filter(({ command }) => JSON.stringify(command).includes('outdated')).length;

it('an instant whose claim is unanswered at the stop is reported as unknown once the drain is over', async () => {
  const one = await testProvider({ storeTimeoutMs: 1_000 });
  const runs: number[] = [];
  const missed: JobMissedEvent[] = [];
  const job = one.locks.createScheduledJob('job', {
    everyMs: EVERY_MS,
    run: ({ firedAt }) => runs.push(firedAt.getTime()),
  });
  job.on('missed', (event) => missed.push(event));
  await job.start();
  await eventually('a run', () => runs[0]);
  const heal = await failClaims(one);
  await within(20_000, 'the stop', job.stop({ drainMs: 300 }));
  const unknown = missed.filter(({ why }) => why === 'unknown');
  expect(unknown).toHaveLength(1);
  expect(unknown[0]?.last.getTime()).toBeGreaterThan(runs.at(-1) ?? Infinity);
  await heal();
});

it('an instant whose claim is answered late is settled within the drain of the stop', async () => {
  const [one, other] = await twoProviders({ storeTimeoutMs: 1_000 });
  const told = new Map<number, string>();
  const jobOf = ({ locks }: typeof one) => {
    const job = locks.createScheduledJob('job', {
      everyMs: EVERY_MS,
      run: ({ firedAt }) => told.set(firedAt.getTime(), 'run'),
    });
    job.on('missed', ({ first, last, why }) => {
      for (let ms = first.getTime(); ms <= last.getTime(); ms += EVERY_MS) told.set(ms, why);
    });
    return job;
  };
  const [a, b] = [jobOf(one), jobOf(other)];
  await a.start();
  await eventually('a run', () => told.size > 0);
  const heal = await failClaims(one);
  const stopped = a.stop({ drainMs: 20_000 });
  await heal();
  await within(20_000, 'the stop', stopped);
  const before = told.size;
  await b.start();
  await eventually('runs of the other', () => [...told.values()].length >= before + 3);
  await b.stop();
  const instants = [...told.keys()].sort((x, y) => x - y);
  const [first = NaN, last = NaN] = [instants[0], instants.at(-1)];
  expect(instants).toHaveLength((last - first) / EVERY_MS + 1);
  expect([...told.values()]).not.toContain('unknown');
});
