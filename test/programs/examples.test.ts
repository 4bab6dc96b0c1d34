import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

import { eventually } from '../../lab/patience.js';
import { Child, runToEnd } from '../../lab/processes/child.js';
import { buildProgram, ROOT } from '../../lab/processes/program.js';
import type { BuiltProgram } from '../../lab/processes/program.js';
import { OwnDatabase } from '../support/test-provider.js';

const buildExample = (example: string): Promise<BuiltProgram> =>
  buildProgram(new URL(`../../examples/${example}.ts`, import.meta.url));

/** Runs an example in this many processes at a time. Returns the output of each when all have ended by themselves. */
async function run(example: string, processes = 1): Promise<readonly (readonly string[])[]> {
  await using database = new OwnDatabase();
  await using program = await buildExample(example);
  return await Promise.all(
    Array.from({ length: processes }, async () => {
      const { stdout, stderr } = await runToEnd([program.path], {
        env: { MONGODB_URI: database.uri, MONGODB_DATABASE: database.name },
      });
      expect(stderr).toBe('');
      return stdout.trimEnd().split('\n');
    }),
  );
}

test('the mutex: two processes hold three times each, with different tokens', async () => {
  const printed = await run('mutex', 2);
  for (const lines of printed) {
    expect(lines.map((line) => line.split(' ')[0])).toEqual(
      [1, 2, 3].flatMap(() => ['asks', 'holds', 'releases']),
    );
  }
  const tokens = printed.flat().flatMap((line) => /^holds (\d+)$/.exec(line)?.[1] ?? []);
  expect(new Set(tokens).size).toBe(6);
});

test('the reader-writer lock: the first readers see the old edition, one editor publishes a new one, and the last reader sees it', async () => {
  const [lines = []] = await run('reader-writer-lock');
  expect(lines.slice(0, 2).sort()).toEqual(['A reads edition 0', 'B reads edition 0']);
  expect(lines[2]).toBe('C publishes edition 1');
  expect(lines.slice(3).sort()).toEqual(['D finds edition 1 published', 'E reads edition 1']);
});

test('the semaphore: at most two calls run at a time, and every permit is released', async () => {
  const [lines = []] = await run('semaphore');
  const atATime = lines.slice(0, -1).map((line) => /^\w+: (\d) at a time$/.exec(line)?.[1]);
  expect(atATime).toHaveLength(5);
  expect([...new Set(atATime)].sort()).toEqual(['1', '2']);
  expect(lines.at(-1)).toBe('2 of 2 permits are free');
});

test('several locks: transfers in opposite directions all end, and no cent is lost', async () => {
  const [lines = []] = await run('several-locks');
  expect(lines).toHaveLength(4);
  const [, ann, bob] = /^Ann has (\d+) cents, Bob has (\d+)$/.exec(lines.at(-1) ?? '') ?? [];
  expect(Number(ann) + Number(bob)).toBe(200);
});

test('the election and the job: every term ends, the leader runs the job, and no instant runs twice in two processes', async () => {
  const printed = await run('election-and-job', 2);
  const lines = printed.flat();
  const terms = lines.filter((line) => line.startsWith('leads, token'));
  expect(terms.length).toBeGreaterThan(0);
  expect(lines.filter((line) => line === 'leads no more')).toHaveLength(terms.length);
  const instants = lines.filter((line) => line.startsWith('reports for'));
  expect(instants.length).toBeGreaterThan(1);
  expect(new Set(instants).size).toBe(instants.length);
});

test('the fenced update: the holder with the older token is refused', async () => {
  const [lines = []] = await run('fenced-update');
  // The process may hear of the loss before or after the update is refused.
  expect(lines.filter((line) => line !== 'the first holder hears of its loss: revoked')).toEqual([
    'sold 5, 5 left',
    'refused: a newer holder has written',
  ]);
});

test('the queue worker: two workers do each task once, those of one account in their order', async () => {
  const printed = await run('queue-worker', 2);
  const lines = printed.flat().filter((line) => line.startsWith('did '));
  for (const account of ['ann', 'bob', 'cy']) {
    for (const ofWorker of printed) {
      const done = ofWorker.filter((line) => line.startsWith(`did ${account}-`));
      expect(done).toEqual([...done].sort());
    }
  }
  expect([...lines].sort()).toEqual(
    ['ann', 'bob', 'cy'].flatMap((account) => [1, 2, 3].map((number) => `did ${account}-${number}`)),
  );
});

test('the graceful shutdown: work stops at a safe point, the lock is free at once, and the process ends by itself', async () => {
  await using database = new OwnDatabase();
  const env = { MONGODB_URI: database.uri, MONGODB_DATABASE: database.name };
  await using program = await buildExample('graceful-shutdown');
  await using service = new Child([program.path], { env });
  const { locks } = await database.connected();
  await eventually('the service works', () => service.stdout.includes('imports'));
  const [, port] = /port (\d+)/.exec(service.stdout) ?? [];
  expect((await fetch(`http://127.0.0.1:${String(port)}/`)).status).toBe(200);
  service.signal('SIGTERM');
  expect(await service.ended).toEqual({ code: 0, signal: null });
  expect(service.stdout.split('\n').slice(1, -1)).toEqual([
    'imports',
    'ends',
    'stopped at a safe point',
    'ended',
  ]);
  expect(service.stderr).toBe('');
  const lock = await locks.tryAcquireMutex('importer');
  expect(lock?.isHeld).toBe(true);
  await lock?.release();
});

test('every example has a test here', () => {
  expect(readdirSync(join(ROOT, 'examples')).sort()).toEqual([
    'election-and-job.ts',
    'fenced-update.ts',
    'graceful-shutdown.ts',
    'mutex.ts',
    'queue-worker.ts',
    'reader-writer-lock.ts',
    'semaphore.ts',
    'several-locks.ts',
    // test/package/check.ts runs these with the packed library.
    'testing',
  ]);
});
