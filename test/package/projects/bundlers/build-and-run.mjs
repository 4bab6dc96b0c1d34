// Bundles both programs with each bundler, the library and all that it depends on included, and runs each bundle. The
// driver stays outside, as its own documentation advises.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

import commonjs from '@rollup/plugin-commonjs';
import { nodeResolve } from '@rollup/plugin-node-resolve';
import { build } from 'esbuild';
import { rollup } from 'rollup';
import webpack from 'webpack';

const here = import.meta.dirname;

for (const format of ['esm', 'cjs']) {
  const entry = format === 'esm' ? 'imports.mjs' : 'requires.cjs';
  const outfile = join(here, `esbuild-${format}.${format === 'esm' ? 'mjs' : 'cjs'}`);
  await build({
    entryPoints: [entry],
    outfile,
    format,
    bundle: true,
    platform: 'node',
    external: ['mongodb'],
  });
  run(outfile);
  const minified = outfile.replace('esbuild', 'esbuild-minified');
  const options = {
    format,
    bundle: true,
    platform: 'node',
    external: ['mongodb'],
    minify: true,
    keepNames: true,
  };
  await build({ entryPoints: [entry], outfile: minified, ...options });
  run(minified);
}

const bundle = await rollup({
  input: 'imports.mjs',
  external: [/^node:/, 'mongodb'],
  plugins: [nodeResolve({ preferBuiltins: true }), commonjs()],
});
await bundle.write({ file: 'rollup-esm.mjs', format: 'es' });
await bundle.close();
run(join(here, 'rollup-esm.mjs'));

for (const [entry, filename, format] of [
  ['./requires.cjs', 'webpack-cjs.cjs', 'commonjs2'],
  ['./imports.mjs', 'webpack-esm.mjs', 'module'],
]) {
  const isModule = format === 'module';
  const stats = await promisify(webpack)({
    ...{ mode: 'production', target: 'node20', context: here, entry, devtool: false },
    optimization: { minimize: false },
    // webpack would look for `paths` in the folders above, where the copy of this project has those of the library.
    resolve: { tsconfig: false },
    experiments: { outputModule: isModule },
    output: { path: here, filename, library: { type: format }, module: isModule },
    externals: { mongodb: isModule ? 'module mongodb' : 'commonjs2 mongodb' },
  });
  if (stats.hasErrors()) throw new Error(stats.toString());
  run(join(here, filename));
}

function run(file) {
  if (!readFileSync(file, 'utf8').includes('findAndModify')) throw new Error(`${file} lacks the library`);
  const env = { ...process.env, FLOW: file.replace(`${here}/`, '') };
  const { status } = spawnSync(process.execPath, [file], { env, stdio: 'inherit', timeout: 60_000 });
  if (status !== 0) throw new Error(`${file} ended with ${status}`);
}
