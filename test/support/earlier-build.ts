import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';

import { build } from 'tsup';

import { cacheFolder, ROOT } from '../../lab/processes/program.js';
import type * as Library from '../../src/index.js';

const execute = promisify(execFile);

/** Whether this clone has the commit. A shallow one may not, and then the tests of `what` are skipped. */
export async function hasCommit(commit: string, what: string): Promise<boolean> {
  try {
    await execute('git', ['cat-file', '-e', `${commit}^{commit}`], { cwd: ROOT });
    return true;
  } catch {
    console.log(`${what}: skipped, because this clone lacks the commit ${commit}`);
    return false;
  }
}

/** The library as it was at this commit. */
export async function earlierBuild(commit: string): Promise<AsyncDisposable & { library: typeof Library }> {
  const folder = await cacheFolder('earlier');
  const archive = join(folder.path, 'src.tar');
  await execute('git', ['archive', '--output', archive, commit, 'src'], { cwd: ROOT });
  await execute('tar', ['-xf', archive, '-C', folder.path]);
  await build({
    config: false,
    entry: { library: join(folder.path, 'src', 'index.ts') },
    outDir: join(folder.path, 'dist'),
    format: 'esm',
    outExtension: () => ({ js: '.mjs' }),
    target: 'node20',
    tsconfig: join(ROOT, 'tsconfig.json'),
    silent: true,
  });
  const { href } = pathToFileURL(join(folder.path, 'dist', 'library.mjs'));
  return { ...folder, library: (await import(/* @vite-ignore */ href)) as typeof Library };
}
