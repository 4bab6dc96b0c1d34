// Everything that can be known about the project without running its tests: one step after the other, and
// the first that fails ends it.
import { spawnSync } from 'node:child_process';

interface Step {
  readonly what: string;
  readonly command: readonly [string, ...string[]];
}

const steps: readonly Step[] = [
  { what: 'package-lock.json whole and in step', command: ['npm', 'ci', '--dry-run'] },
  { what: 'types of everything', command: ['tsc', '--noEmit'] },
  { what: 'types of the library, stricter', command: ['tsc', '--noEmit', '-p', 'tsconfig.build.json'] },
  {
    what: 'types of the page of the dashboard',
    command: ['tsc', '--noEmit', '-p', 'src/dashboard/page'],
  },
  { what: 'lint', command: ['eslint', '.'] },
  { what: 'format', command: ['prettier', '--check', '--log-level', 'warn', '.'] },
  { what: 'unused files, exports and dependencies', command: ['knip'] },
  { what: 'build', command: ['npm', 'run', 'build'] },
  { what: 'every public name documented', command: ['typedoc', '--emit', 'none'] },
  { what: 'package metadata', command: ['publint', '--strict'] },
  { what: 'types of the package', command: ['attw', '--pack', '.'] },
  { what: 'size of each import', command: ['tsx', 'test/package/sizes.ts'] },
  { what: 'packed, installed and used', command: ['tsx', 'test/package/check.ts'] },
];

for (const [index, { what, command }] of steps.entries()) {
  const [program, ...args] = command;
  process.stdout.write(`leasehold check ${index + 1}/${steps.length}: ${what} (${command.join(' ')}) … `);
  const startedMs = performance.now();
  const { status, stdout, stderr, error } = spawnSync(program, args, {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
    shell: process.platform === 'win32',
    maxBuffer: 64 * 1024 * 1024,
  });
  if (status !== 0) {
    console.log('FAILED');
    console.error([stdout, stderr, error?.message].filter(Boolean).join('\n'));
    console.error(`leasehold check: ${what}: failed`);
    process.exit(1);
  }
  console.log(`ok, ${((performance.now() - startedMs) / 1000).toFixed(1)} s`);
  for (const line of stdout.split('\n').filter((each) => each.startsWith('leasehold size:')))
    console.log(line);
}
console.log(`leasehold check: all ${steps.length} steps passed`);
