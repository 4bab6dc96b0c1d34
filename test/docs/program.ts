import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { expect } from 'vitest';

import type { OwnDatabase } from '../support/own-database.js';
import { root } from './pages.js';

const execute = promisify(execFile);

/** Runs a program of a page in a process that has to end by itself. `mjs` has to be plain JavaScript for Node. */
export async function runProgram(
  code: string,
  database: OwnDatabase,
  extension: 'mts' | 'mjs' = 'mts',
): Promise<{ stdout: string; stderr: string }> {
  const caches = join(root, '.cache');
  await mkdir(caches, { recursive: true });
  // Inside the checkout, so that `mongodb` is found.
  const folder = await mkdtemp(join(caches, 'program-'));
  try {
    const file = join(folder, `example.${extension}`);
    await writeFile(file, here(code, database.name));
    if (extension === 'mjs') await execute(process.execPath, ['--check', file]);
    return await execute(process.execPath, ['--import', 'tsx', file], {
      cwd: root,
      env: { ...process.env, MONGODB_URI: database.uri },
      timeout: 45_000,
    });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** The program, changed to use this database and the checked-out library. */
function here(code: string, database: string): string {
  expect(code).toContain(`from 'leasehold'`);
  expect(code).toContain(`client.db('app')`);
  return code
    .replaceAll(`'leasehold'`, `'${pathToFileURL(join(root, 'src', 'index.ts')).href}'`)
    .replaceAll(`client.db('app')`, `client.db('${database}')`);
}
