// Compiles the same program with each version of TypeScript under each way to find modules, with the declarations of
// all packages checked.
import { spawnSync } from 'node:child_process';
import { copyFileSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const modules = join(import.meta.dirname, 'node_modules');
const SETTINGS = {
  node16: [{ module: 'node16' }, 'program.cts', 'program.mts'],
  nodenext: [{ module: 'nodenext' }, 'program.cts', 'program.mts'],
  bundler: [{ module: 'esnext', moduleResolution: 'bundler' }, 'program.ts'],
  node10: [{ module: 'commonjs', moduleResolution: 'node10' }, 'program.ts'],
};
const STRICT = {
  ...{ target: 'ES2022', lib: ['ES2022', 'ESNext.Disposable'], types: ['node'], noEmit: true },
  ...{ strict: true, exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true, skipLibCheck: false },
};

// By the ending, TypeScript takes a file for a CommonJS or an ES module.
for (const ending of ['cts', 'mts']) copyFileSync('program.ts', `program.${ending}`);

let hasFailed = false;
for (const compiler of readdirSync(modules).filter((name) => name.startsWith('typescript-'))) {
  const { version, bin } = JSON.parse(readFileSync(join(modules, compiler, 'package.json'), 'utf8'));
  const major = Number(version.split('.')[0]);
  for (const [name, [options, ...files]] of Object.entries(SETTINGS)) {
    // TypeScript 6 deprecates `node10`, and 7 is without it.
    if (name === 'node10' && major > 6) continue;
    const ignoring = name === 'node10' && major === 6 ? { ignoreDeprecations: '6.0' } : {};
    const compilerOptions = { ...STRICT, ...options, ...ignoring };
    writeFileSync('tsconfig.json', JSON.stringify({ compilerOptions, files }));
    const { status, stdout } = spawnSync(process.execPath, [join(modules, compiler, bin.tsc), '-p', '.'], {
      encoding: 'utf8',
    });
    hasFailed ||= status !== 0;
    console.log(`TypeScript ${version}, ${name}: ${status === 0 ? 'compiles' : `fails\n${stdout}`}`);
  }
}
if (hasFailed) process.exitCode = 1;
