// The tests with another version of the driver: `npm run test:driver -- 6.10.0`, and what follows goes to Vitest. They run
// in a copy of the project whose node_modules is this one but for the driver, so that processes and programs that the
// tests start use it too, and neither node_modules nor package-lock.json is touched.
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const modules = join(root, 'node_modules');
const [version = '', ...vitestArguments] = process.argv.slice(2);
if (!/^[\d.]+$/.test(version)) {
  console.error('Name a version of the driver, whole or in part: npm run test:driver -- 6.10.0');
  process.exit(1);
}
const folder = join(root, '.cache', 'driver', version);
const copy = join(folder, 'project');

/** The driver and what it depends on; of a version named in part, the newest. */
function install(): string {
  const driver = join(folder, 'installed');
  mkdirSync(driver, { recursive: true });
  writeFileSync(join(driver, 'package.json'), '{ "private": true }');
  const flags = ['--no-audit', '--no-fund', '--no-save', '--loglevel=error'];
  run('npm', ['install', ...flags, `mongodb@${version}`], driver);
  return join(driver, 'node_modules', 'mongodb');
}

function run(command: string, args: readonly string[], cwd: string): void {
  const { status } = spawnSync(command, args, { cwd, stdio: 'inherit', shell: process.platform === 'win32' });
  if (status !== 0) process.exit(status ?? 1);
}

function linkModules(driver: string): void {
  const linked = join(copy, 'node_modules');
  mkdirSync(linked);
  for (const name of readdirSync(modules)) {
    // What tools keep there is of one project.
    if (name === '.cache' || name.startsWith('.vite')) continue;
    symlinkSync(name === 'mongodb' ? driver : join(modules, name), join(linked, name), 'junction');
  }
}

const driver = install();
rmSync(copy, { recursive: true, force: true });
const LEFT_OUT: readonly string[] = ['.git', '.cache', 'node_modules', 'dist', 'coverage'].map((name) =>
  join(root, name),
);
for (const name of readdirSync(root)) {
  if (!LEFT_OUT.includes(join(root, name))) cpSync(join(root, name), join(copy, name), { recursive: true });
}
linkModules(driver);
// One download of the server is enough, and what failures leave behind is looked for here.
for (const name of ['mongod', 'failures']) {
  mkdirSync(join(root, '.cache', name), { recursive: true });
  mkdirSync(join(copy, '.cache'), { recursive: true });
  symlinkSync(join(root, '.cache', name), join(copy, '.cache', name), 'junction');
}
const { version: installed } = JSON.parse(readFileSync(join(driver, 'package.json'), 'utf8')) as {
  version: string;
};
console.log(`leasehold: the tests with driver ${installed}, in ${copy}`);
run(process.execPath, [join(modules, 'vitest', 'vitest.mjs'), 'run', ...vitestArguments], copy);
