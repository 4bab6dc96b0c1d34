import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect } from 'vitest';

import { runToEnd } from '../../lab/processes/child.js';
import { cacheFolder, fromSources } from '../../lab/processes/program.js';
import type { OwnDatabase } from '../support/test-provider.js';
import { root } from './pages.js';

/** Runs a program of a page in a process that has to end by itself. `mjs` has to be plain JavaScript for Node. */
export async function runProgram(
  code: string,
  database: OwnDatabase,
  extension: 'mts' | 'mjs' = 'mts',
): Promise<{ stdout: string; stderr: string }> {
  await using folder = await cacheFolder('example');
  const file = join(folder.path, `example.${extension}`);
  await writeFile(file, here(code, database.name));
  if (extension === 'mjs') await runToEnd(['--check', file]);
  return await runToEnd(fromSources(file), { env: { MONGODB_URI: database.uri } });
}

/** The program, changed to use this database and the checked-out library. */
function here(code: string, database: string): string {
  expect(code).toContain(`from 'leasehold'`);
  expect(code).toContain(`client.db('app')`);
  return code
    .replaceAll(`'leasehold'`, `'${pathToFileURL(join(root, 'src', 'index.ts')).href}'`)
    .replaceAll(`client.db('app')`, `client.db('${database}')`);
}
