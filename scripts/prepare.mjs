// Makes sure that the dependencies of package-lock.json are installed, then runs the command it was given.
// Plain Node without a dependency: it runs in a fresh clone, before there is a node_modules.
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const modules = join(root, 'node_modules');
const onWindows = process.platform === 'win32';

if (!inStep()) install();
const [command, ...args] = process.argv.slice(2);
if (command !== undefined) run(command, args);

/** Compares with the record that npm leaves in node_modules only after a whole install. */
function inStep() {
  const record = join(modules, '.package-lock.json');
  if (!existsSync(record)) return false;
  const wanted = packagesOf(join(root, 'package-lock.json'));
  const installed = packagesOf(record);
  return Object.entries(wanted).every(([path, entry]) => {
    if (path === '') return true;
    const found = installed[path];
    // An optional package is absent where it is meant for another platform.
    if (found === undefined) return entry.optional === true || entry.devOptional === true;
    return (
      found.version === entry.version && found.integrity === entry.integrity && existsSync(join(root, path))
    );
  });
}

function packagesOf(lockFile) {
  return JSON.parse(readFileSync(lockFile, 'utf8')).packages;
}

function install() {
  console.log('leasehold: installing dependencies (npm ci) …');
  // NODE_ENV=production would leave out the very packages that are wanted here.
  const npmArgs = ['ci', '--include=dev', '--no-audit', '--no-fund', '--loglevel=error'];
  const npm = process.env.npm_execpath;
  const options = { cwd: root, stdio: ['ignore', 'ignore', 'pipe'], encoding: 'utf8' };
  const { status, stderr, error } = npm?.endsWith('.js')
    ? spawnSync(process.execPath, [npm, ...npmArgs], options)
    : spawnSync('npm', npmArgs, { ...options, shell: onWindows });
  if (status === 0) return;
  const why = error?.message ?? `npm ci ended with ${status ?? 'a signal'}`;
  console.error(`leasehold: the dependencies could not be installed: ${why}`);
  // The cause comes first; after it npm prints a page on how to use it.
  const lines = (stderr ?? '').split('\n').filter((line) => line.replace('npm error', '').trim() !== '');
  console.error(lines.slice(0, 10).join('\n'));
  process.exit(1);
}

function run(command, args) {
  const path = [join(modules, '.bin'), process.env.PATH].join(delimiter);
  const child = spawn(command, args, {
    cwd: root,
    stdio: 'inherit',
    shell: onWindows,
    env: { ...process.env, PATH: path },
  });
  // The command stops its servers when it is told to end, so it is told and waited for.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  // npm passes a signal on to its shell, which dies of it alone; the only sign of that is another parent.
  const parent = process.ppid;
  const watch = setInterval(() => {
    if (process.ppid !== parent) child.kill('SIGTERM');
  }, 500);
  child.on('error', (error) => {
    console.error(`leasehold: ${command} could not be started: ${error.message}`);
    clearInterval(watch);
    process.exitCode = 1;
  });
  child.on('close', (code) => {
    clearInterval(watch);
    process.exitCode = code ?? 1;
  });
}
