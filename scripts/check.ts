// Everything that can be known about the project without running its tests. The rules of style take as long as all other
// steps together and need nothing of them, so they run beside them. The first step that fails ends the check.
import { execFile } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';

interface Step {
  readonly what: string;
  readonly command: readonly [string, ...string[]];
}

const style: readonly Step[] = [
  { what: 'lint', command: ['eslint', '.'] },
  { what: 'format', command: ['prettier', '--check', '--log-level', 'warn', '.'] },
];

const others: readonly Step[] = [
  { what: 'package-lock.json whole and in step', command: ['npm', 'ci', '--dry-run'] },
  { what: 'types of everything', command: ['tsc', '--noEmit'] },
  { what: 'types of the library, stricter', command: ['tsc', '--noEmit', '-p', 'tsconfig.build.json'] },
  {
    what: 'types of the page of the dashboard',
    command: ['tsc', '--noEmit', '-p', 'src/dashboard/page'],
  },
  { what: 'unused files, exports and dependencies', command: ['knip'] },
  { what: 'build', command: ['npm', 'run', 'build'] },
  { what: 'every public name documented', command: ['typedoc', '--emit', 'none'] },
  { what: 'package metadata', command: ['publint', '--strict'] },
  { what: 'types of the package', command: ['attw', '--pack', '.'] },
  { what: 'size of each import', command: ['tsx', 'test/package/sizes.ts'] },
  { what: 'packed, installed and used', command: ['tsx', 'test/package/check.ts'] },
];

const count = style.length + others.length;
let ended = 0;

/** What is running. It ends with the check: `npm run build` may not go on beside the next one. */
const running = new Set<ChildProcess>();

/** Runs the steps one after the other, and prints each when it has ended. */
async function inTurn(steps: readonly Step[]): Promise<void> {
  for (const { what, command } of steps) {
    const [program, ...args] = command;
    const startedMs = performance.now();
    const { failure, stdout, stderr } = await run(program, args);
    ended += 1;
    process.stdout.write(`leasehold check ${ended}/${count}: ${what} (${command.join(' ')}) … `);
    if (failure !== null) {
      console.log('FAILED');
      console.error([stdout, stderr].filter(Boolean).join('\n') || failure.message);
      console.error(`leasehold check: ${what}: failed`);
      for (const child of running) child.kill();
      process.exit(1);
    }
    console.log(`ok, ${((performance.now() - startedMs) / 1000).toFixed(1)} s`);
    for (const line of stdout.split('\n').filter((each) => each.startsWith('leasehold size:')))
      console.log(line);
  }
}

interface Ended {
  readonly failure: Error | null;
  readonly stdout: string;
  readonly stderr: string;
}

function run(program: string, args: readonly string[]): Promise<Ended> {
  const options = { shell: process.platform === 'win32', maxBuffer: 64 * 1024 * 1024 };
  return new Promise((resolve) => {
    const child = execFile(program, args, options, (failure, stdout, stderr) => {
      running.delete(child);
      resolve({ failure, stdout, stderr });
    });
    running.add(child);
    child.stdin?.end();
  });
}

await Promise.all([inTurn(style), inTurn(others)]);
console.log(`leasehold check: all ${count} steps passed`);
