// Runs both programs in each runtime. On Linux with x64 npm has all of them, and each has to be there. Elsewhere those that
// are missing are named and left out.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';

const modules = join(import.meta.dirname, 'node_modules');
// `node` is one of those that are installed here; this one runs npm.
const own = process.env.npm_node_execpath;
const RUNTIMES = [
  [own],
  [own, '--no-experimental-require-module'],
  [join(modules, 'node-22', 'bin', 'node')],
  [join(modules, 'node-24', 'bin', 'node')],
  [join(modules, '@oven', 'bun-linux-x64', 'bin', 'bun')],
  [join(modules, '@deno', 'linux-x64-glibc', 'deno'), 'run', '--allow-all', '--no-prompt'],
];

for (const [runtime, ...flags] of RUNTIMES) {
  const [version] = existsSync(runtime) ? output(runtime, ['--version']).split('\n') : [];
  const name = runtime.replace(`${modules}/`, '');
  if (version === undefined) {
    if (process.platform === 'linux' && process.arch === 'x64') throw new Error(`${name} is not installed`);
    console.log(`${name}: not there for this platform`);
    continue;
  }
  for (const program of ['imports.mjs', 'requires.cjs']) {
    const flow = [name, version, ...flags.filter((flag) => flag.includes('module')), program].join(' ');
    process.stdout.write(output(runtime, [...flags, program], { FLOW: flow }));
  }
}

function output(command, args, environment = {}) {
  const { status, stdout, stderr, error } = spawnSync(command, args, {
    env: { ...process.env, ...environment },
    encoding: 'utf8',
    timeout: 60_000,
  });
  if (status !== 0) throw new Error(`${command} ${args.join(' ')}: ${error ?? status}\n${stdout}\n${stderr}`);
  return `${stdout}${stderr}`;
}
