import { copyFileSync } from 'node:fs';

import { defineConfig } from 'tsup';

import { BESIDE_LIBRARY, COMMAND_LINE, ENTRIES } from './scripts/entries.js';

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
    ...BESIDE_LIBRARY,
    outDir: 'dist/cli',
    clean: true,
    onSuccess: () => {
      // commander is inside, and its licence asks for this.
      copyFileSync('node_modules/commander/LICENSE', 'dist/cli/commander.LICENSE');
      return Promise.resolve();
    },
  },
]);
