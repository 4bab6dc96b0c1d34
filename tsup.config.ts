import { defineConfig } from 'tsup';

export default defineConfig({
  entry: { index: 'src/index.ts', quorum: 'src/quorum/index.ts', testing: 'src/testing/index.ts' },
  format: 'esm',
  target: 'node20',
  tsconfig: 'tsconfig.build.json',
  dts: { compilerOptions: { ignoreDeprecations: '6.0' } },
  sourcemap: true,
  clean: true,
});
