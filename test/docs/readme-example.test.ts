import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { expect, inject, test } from 'vitest';

import { OwnDatabase } from '../support/own-database.js';
import { codeBlocks, page, root } from './pages.js';

const execute = promisify(execFile);

/** The first example of the README, on a database of its own and on the library as it is checked out. */
function exampleFor(database: string): string {
  const [example] = codeBlocks(page('README.md'), 'ts');
  const code = example?.code ?? '';
  expect(code).toContain(`from 'leasehold'`);
  expect(code).toContain(`client.db('app')`);
  return code
    .replaceAll(`'leasehold'`, `'${pathToFileURL(join(root, 'src', 'index.ts')).href}'`)
    .replaceAll(`client.db('app')`, `client.db('${database}')`);
}

/** Runs a module in a process of its own, which has to end by itself. */
async function run(code: string, uri: string): Promise<{ stdout: string; stderr: string }> {
  const caches = join(root, '.cache');
  await mkdir(caches, { recursive: true });
  // Within the checkout, so that `mongodb` is found.
  const folder = await mkdtemp(join(caches, 'readme-'));
  try {
    const file = join(folder, 'example.mts');
    await writeFile(file, code);
    return await execute(process.execPath, ['--import', 'tsx', file], {
      cwd: root,
      env: { ...process.env, MONGODB_URI: uri },
      timeout: 45_000,
    });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

test('the example of the README runs as it stands, charges one after the other, and its process ends', async () => {
  await using database = new OwnDatabase(inject('mongoUri'));
  const { stdout, stderr } = await run(exampleFor(database.name), database.uri);

  expect(stderr).toBe('');
  const lines = [...stdout.matchAll(/^invoice (\d+) charged under token (\d+)$/gm)];
  const tokens = lines.filter(([, number]) => number === '42').map(([, , token]) => Number(token));
  expect(lines).toHaveLength(3);
  expect(tokens).toHaveLength(2);
  expect(tokens[1]).toBeGreaterThan(tokens[0] ?? Infinity);
});
