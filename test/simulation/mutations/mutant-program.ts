import { readFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

import { build } from 'esbuild';
import type { Plugin } from 'esbuild';

import { cacheFolder, ROOT } from '../../../lab/processes/program.js';
import type { BuiltProgram } from '../../../lab/processes/program.js';
import { edited } from '../../faults/mutations/mutant.js';
import type { Edit } from '../../faults/mutations/mutation.js';

const SOURCES = join(ROOT, 'src');

/** Bundles the program with these texts of the library replaced. No file is written but the bundle. */
export async function buildWith(edits: readonly Edit[], source: URL): Promise<BuiltProgram> {
  const folder = await cacheFolder('simulated');
  const path = join(folder.path, 'program.mjs');
  await build({
    ...{ bundle: true, platform: 'node', format: 'esm', target: 'node20', packages: 'external' },
    entryPoints: [fileURLToPath(source)],
    ...{ outfile: path, sourcemap: 'inline', logLevel: 'error' },
    plugins: [planted(edits)],
  });
  return { ...folder, path };
}

const planted = (edits: readonly Edit[]): Plugin => ({
  name: 'planted',
  setup(bundle) {
    const files = new Set(edits.map(({ file }) => file));
    bundle.onLoad({ filter: /\.ts$/ }, async ({ path }) => {
      const file = relative(SOURCES, path).replaceAll('\\', '/');
      if (!files.has(file)) return undefined;
      const ofFile = edits.filter((edit) => edit.file === file);
      const text = ofFile.reduce(edited, await readFile(path, 'utf8'));
      return { contents: text, loader: 'ts' };
    });
  },
});
