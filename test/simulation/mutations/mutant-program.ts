import { readFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

import { build } from 'tsup';
import type { Options } from 'tsup';

import { cacheFolder, ROOT } from '../../../lab/processes/program.js';
import type { BuiltProgram } from '../../../lab/processes/program.js';
import { edited } from '../../faults/mutations/mutant.js';
import type { Edit } from '../../faults/mutations/mutation.js';

const SOURCES = join(ROOT, 'src');

type Plugin = NonNullable<Options['esbuildPlugins']>[number];

/** Bundles the program with these texts of the library replaced. No file is written but the bundle. */
export async function buildWith(edits: readonly Edit[], source: URL): Promise<BuiltProgram> {
  const folder = await cacheFolder('simulated');
  await build({
    ...{ config: false, silent: true, format: 'esm', target: 'node20' },
    entry: { program: fileURLToPath(source) },
    outDir: folder.path,
    esbuildPlugins: [planted(edits)],
  });
  return { ...folder, path: join(folder.path, 'program.js') };
}

const planted = (edits: readonly Edit[]): Plugin => ({
  name: 'planted',
  setup(bundle) {
    bundle.onLoad({ filter: /\.ts$/ }, async ({ path }) => {
      const file = relative(SOURCES, path).replaceAll('\\', '/');
      const ofFile = edits.filter((edit) => edit.file === file);
      if (ofFile.length === 0) return undefined;
      const text = ofFile.reduce(edited, await readFile(path, 'utf8'));
      return { contents: text, loader: 'ts' };
    });
  },
});
