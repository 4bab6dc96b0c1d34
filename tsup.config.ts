import { defineConfig } from 'tsup';

import { COMMAND_LINE, ENTRIES } from './scripts/entries.js';
import { writeLicences } from './scripts/licences.js';

export default defineConfig([
  // Only ES modules. scripts/build-commonjs.ts translates each of them: tsup would rewrite the classes of CommonJS files
  // that share code, and their errors would have other names.
  {
    entry: { ...ENTRIES },
    format: 'esm',
    target: 'node20',
    tsconfig: 'tsconfig.build.json',
    dts: { compilerOptions: { ignoreDeprecations: '6.0' } },
    sourcemap: true,
    clean: ['!cli/**'],
  },
  {
    ...COMMAND_LINE,
    outDir: 'dist/cli',
    clean: true,
    metafile: true,
    onSuccess: () => {
      writeLicences('dist/cli');
      return Promise.resolve();
    },
  },
]);
