import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';

import { eventually } from '../../lab/patience.js';
import { Child } from '../../lab/processes/child.js';
import { cacheFolder, fromSources } from '../../lab/processes/program.js';
import { OwnDatabase } from '../support/test-provider.js';
import { codeBlocks, page } from './pages.js';

/** The worker of docs/start.md, with the address of the test's server and a database of its own. */
function workerOfThePage(database: OwnDatabase): string {
  const worker = codeBlocks(page('docs/start.md'), 'mjs').find(({ code }) =>
    code.includes(`client.db('try')`),
  );
  expect(worker).toBeDefined();
  return (worker?.code ?? '').replace(`client.db('try')`, `client.db('${database.name}')`);
}

const works = (worker: Child): number => worker.stdout.split('\n').filter((line) => line !== '').length;

test('the worker of docs/start.md: two take turns, one goes on when the other is killed, and ends when it is told to', async () => {
  await using database = new OwnDatabase();
  await using folder = await cacheFolder('start-page');
  const file = join(folder.path, 'worker.mjs');
  await writeFile(file, workerOfThePage(database));
  const start = (): Child => new Child(fromSources(file), { env: { MONGODB_URI: database.uri } });

  await using first = start();
  await using second = start();
  await eventually('both work', () => works(first) > 1 && works(second) > 1);
  expect(first.stdout).toMatch(new RegExp(`^(${first.pid} works\n)+$`));

  let before = works(second);
  const enough = works(first) + 3;
  await eventually('the first one works three times more', () => works(first) >= enough);
  expect(works(second)).toBeGreaterThan(before);

  await first.kill();
  before = works(second);
  await eventually('the other one goes on', () => works(second) > before + 1);
  second.signal('SIGTERM');
  await second.endsByItself();
  expect(second.stderr).toBe('');
});
