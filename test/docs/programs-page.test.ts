import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';

import { eventually } from '../../lab/patience.js';
import { Child } from '../../lab/processes/child.js';
import { cacheFolder, fromSources } from '../../lab/processes/program.js';
import { OwnDatabase } from '../support/test-provider.js';
import { codeBlocks, page } from './pages.js';

const programs = codeBlocks(page('docs/programs.md'), 'mjs');

/** The program of the page that has this text, with a database of its own. */
function programWith(text: string, database: OwnDatabase): string {
  const found = programs.find(({ code }) => code.includes(text));
  if (found === undefined) throw new Error(`docs/programs.md has no program with ${text}`);
  expect(found.code).toContain(`client.db('try')`);
  const code = found.code.replace(`client.db('try')`, `client.db('${database.name}')`);
  // On a busy machine, an extension may take longer than a third of the lease of the page.
  return code.replace('leaseMs: 5_000', 'leaseMs: 15_000');
}

interface Started extends AsyncDisposable {
  readonly start: () => Child;
}

/** Saves a program of the page, to be started any number of times. */
async function save(text: string, database: OwnDatabase): Promise<Started> {
  const folder = await cacheFolder('programs-page');
  const file = join(folder.path, 'program.mjs');
  await writeFile(file, programWith(text, database));
  return {
    start: () => new Child(fromSources(file), { env: { MONGODB_URI: database.uri } }),
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
  };
}

const linesOf = ({ stdout }: Child): readonly string[] => stdout.split('\n').filter((line) => line !== '');

const instantsOf = (pod: Child): readonly string[] =>
  linesOf(pod).flatMap((line) => /^\d+ runs (\S+)$/.exec(line)?.[1] ?? []);

test('the job of docs/programs.md runs on one pod, and on the other one after an end and after a death', async () => {
  await using database = new OwnDatabase();
  await using program = await save('createScheduledJob', database);
  await using first = program.start();
  await eventually('the first pod runs the job', () => instantsOf(first).length > 0);
  await using second = program.start();
  first.signal('SIGTERM');
  await first.endsByItself();
  await eventually('the second pod runs the job', () => instantsOf(second).length > 0);

  await using third = program.start();
  await second.kill();
  await eventually('the third pod runs the job', () => instantsOf(third).length > 1);
  expect(third.stdout).toMatch(/ missed \d+: no-leader\n/);
  const instants = [first, second, third].flatMap(instantsOf);
  expect(new Set(instants).size).toBe(instants.length);
  third.signal('SIGINT');
  await third.endsByItself();
  expect([first, second, third].map(({ stderr }) => stderr)).toEqual(['', '', '']);
});

test('the transfer of docs/programs.md prints what the page shows', async () => {
  await using database = new OwnDatabase();
  await using program = await save('fencedTransaction', database);
  await using transfer = program.start();
  await transfer.endsByItself();
  const shown = codeBlocks(page('docs/programs.md'), 'text').find(({ code }) => code.includes('STALE_TOKEN'));
  expect(transfer.stdout.trim()).toBe(shown?.code.trim());
  expect(transfer.stderr).toBe('');
});

test('the calls of docs/programs.md are at most five at a time, in two processes together', async () => {
  await using database = new OwnDatabase();
  await using program = await save('createSemaphore', database);
  await using first = program.start();
  await using second = program.start();
  const provider = database.client().provider();
  let most = 0;
  const isOver = async (): Promise<boolean> => {
    const holders = (await provider.inspect('api:forecast'))?.holders ?? [];
    most = Math.max(most, holders.length);
    return [first, second].every((each) => linesOf(each).length === 20);
  };
  await eventually('both have made their ten calls', isOver);
  expect(most).toBe(5);
  await Promise.all([first.endsByItself(), second.endsByItself()]);
  for (const { stdout, stderr } of [first, second]) {
    expect(stdout.match(/^begin city \d+$/gm)).toHaveLength(10);
    expect(stdout.match(/^end city \d+$/gm)).toHaveLength(10);
    expect(stderr).toBe('');
  }
});
