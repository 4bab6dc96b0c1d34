import { defineConfig } from 'tsup';

import { ENTRIES } from './scripts/entries.js';

// Only ES modules. scripts/build-commonjs.ts translates each of them: tsup would rewrite the classes of CommonJS files
// that share code, and their errors would have other names.
export default defineConfig({
  entry: { ...ENTRIES },
  format: 'esm',
  target: 'node20',
  tsconfig: 'tsconfig.build.json',
  dts: { compilerOptions: { ignoreDeprecations: '6.0' } },
  sourcemap: true,
  clean: true,
});
