import { defineConfig } from 'tsup';

import { ENTRIES } from './scripts/entries.js';

export default defineConfig({
  entry: { ...ENTRIES },
  format: ['esm', 'cjs'],
  // CommonJS too shares the code of the entries, so that each class exists once.
  splitting: true,
  target: 'node20',
  tsconfig: 'tsconfig.build.json',
  dts: { compilerOptions: { ignoreDeprecations: '6.0' } },
  sourcemap: true,
  clean: true,
});
