// Compiles the same program with each version of TypeScript in the way to find modules that it recommends, and in every
// other way with the oldest and the newest version that has it. The declarations of all packages are checked.
import { spawnSync } from 'node:child_process';
import { copyFileSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const modules = join(import.meta.dirname, 'node_modules');
const RECOMMENDED = 'nodenext';
const SETTINGS = {
  [RECOMMENDED]: [{ module: 'nodenext' }, 'program.cts', 'program.mts'],
  node16: [{ module: 'node16' }, 'program.cts', 'program.mts'],
  bundler: [{ module: 'esnext', moduleResolution: 'bundler' }, 'program.ts'],
  node10: [{ module: 'commonjs', moduleResolution: 'node10' }, 'program.ts'],
};
const STRICT = {
  ...{ target: 'ES2022', lib: ['ES2022', 'ESNext.Disposable'], types: ['node'], noEmit: true },
  ...{ strict: true, exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true, skipLibCheck: false },
};

// By the ending, TypeScript takes a file for a CommonJS or an ES module.
for (const ending of ['cts', 'mts']) copyFileSync('program.ts', `program.${ending}`);

const compilers = readdirSync(modules)
  .filter((name) => name.startsWith('typescript-'))
  .map((name) => {
    const { version, bin } = JSON.parse(readFileSync(join(modules, name, 'package.json'), 'utf8'));
    return { path: join(modules, name, bin.tsc), version, major: Number(version.split('.')[0]) };
  })
  .toSorted((a, b) => a.version.localeCompare(b.version, undefined, { numeric: true }));

/** TypeScript 6 deprecates `node10`, and 7 is without it. */
const thatHave = (name) => compilers.filter(({ major }) => name !== 'node10' || major <= 6);

let hasFailed = false;
for (const [name, [options, ...files]] of Object.entries(SETTINGS)) {
  const all = thatHave(name);
  for (const { path, version, major } of name === RECOMMENDED ? all : [all.at(0), all.at(-1)]) {
    const ignoring = name === 'node10' && major === 6 ? { ignoreDeprecations: '6.0' } : {};
    const compilerOptions = { ...STRICT, ...options, ...ignoring };
    writeFileSync('tsconfig.json', JSON.stringify({ compilerOptions, files }));
    const { status, stdout } = spawnSync(process.execPath, [path, '-p', '.'], { encoding: 'utf8' });
    hasFailed ||= status !== 0;
    console.log(`TypeScript ${version}, ${name}: ${status === 0 ? 'compiles' : `fails\n${stdout}`}`);
  }
}
if (hasFailed) process.exitCode = 1;
