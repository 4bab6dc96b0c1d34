// Tests the tarball instead of the checkout: packs the library, unless a packed one is given, installs it in another
// folder, and uses it there.
import { execFile } from 'node:child_process';
import { copyFile, cp, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { connectOrStart } from '../../lab/mongo-server/connect-or-start.js';
import { givenTarball } from './given-tarball.js';

const execute = promisify(execFile);
const root = fileURLToPath(new URL('../../', import.meta.url));
const checkedOut = (name: string): string => join(root, 'node_modules', name);

async function checkPackage(folder: string): Promise<void> {
  const tarball = await pack(folder);
  await installAsConsumer(folder, tarball);
  await step('its types compile for a strict consumer', folder, process.execPath, [
    checkedOut('typescript/bin/tsc'),
    ...['-p', folder, '--typeRoots', checkedOut('@types')],
  ]);
  await inNewFolder((testKit) => checkTestKit(testKit, join(folder, tarball)));
  await using server = await connectOrStart();
  const environment = { MONGODB_URI: server.uri };
  for (const [what, program] of [
    ['import: a mutex acquired and released', 'import.mjs'],
    ['require: a mutex acquired and released', 'require.cjs'],
    ['import of both entries: one class, a mutex of a quorum', 'quorum-import.mjs'],
    ['import and require of the dashboard: its page', 'dashboard-import.mjs'],
    ['require of both entries: one class, a mutex of a quorum', 'quorum-require.cjs'],
    ['import of leasehold/opentelemetry: a recorded mutex', 'opentelemetry-import.mjs'],
    ['require of leasehold/opentelemetry: a recorded mutex', 'opentelemetry-require.cjs'],
  ] as const) {
    await step(what, folder, process.execPath, [program], environment);
  }
  await step(
    'the command line: a command under a lock',
    folder,
    join('node_modules', '.bin', 'leasehold'),
    ['run', 'x', '--db', 'package-check', '--', process.execPath, '--version'],
    environment,
  );
}

/** Puts the tarball into the folder, and returns its name. */
async function pack(folder: string): Promise<string> {
  if (givenTarball !== undefined) {
    console.log(`leasehold package: ${givenTarball}`);
    await copyFile(givenTarball, join(folder, basename(givenTarball)));
    return basename(givenTarball);
  }
  await npm('npm pack', root, ['pack', '--pack-destination', folder]);
  const tarball = (await readdir(folder)).find((name) => name.endsWith('.tgz'));
  if (tarball === undefined) throw new Error('npm pack left no tarball');
  return tarball;
}

/** Runs the examples of tests, each by its own runner. No folder above theirs has a driver. */
async function checkTestKit(folder: string, tarball: string): Promise<void> {
  await cp(join(root, 'examples', 'testing'), folder, { recursive: true });
  const dependencies = {
    leasehold: `file:${tarball}`,
    jest: '^30',
    vitest: `file:${checkedOut('vitest')}`,
  };
  await writeFile(
    join(folder, 'package.json'),
    JSON.stringify({ private: true, type: 'module', dependencies }),
  );
  const quietly = ['--no-audit', '--no-fund', '--prefer-offline'];
  await npm('npm install of the test kit', folder, ['install', '--omit=peer', ...quietly]);
  for (const [what, args] of [
    ['node:test', ['--test', 'lost-lock.test.mjs']],
    ['Vitest', [checkedOut('vitest/vitest.mjs'), 'run', '--root', '.', 'clock-change']],
    [
      'Jest',
      [
        '--experimental-vm-modules',
        'node_modules/jest/bin/jest.js',
        '--transform',
        '{}',
        '--testMatch',
        '**/failover.test.mjs',
      ],
    ],
  ] as const) {
    await step(`a test of ${what} without a server`, folder, process.execPath, args);
  }
}

/** Takes the driver and the library's own dependencies from the checkout, so that a registry is needed for one only. */
async function installAsConsumer(folder: string, tarball: string): Promise<void> {
  const own = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { dependencies: object };
  const overrides = Object.keys(own.dependencies).map((name) => [name, `file:${checkedOut(name)}`]);
  const manifest = {
    private: true,
    dependencies: {
      leasehold: `file:${tarball}`,
      mongodb: `file:${checkedOut('mongodb')}`,
      // From the registry, because npm 11 fails at an optional peer that is a link.
      '@opentelemetry/api': '^1.9.0',
    },
    overrides: Object.fromEntries(overrides) as object,
  };
  await writeFile(join(folder, 'package.json'), JSON.stringify(manifest, null, 2));
  await cp(join(root, 'test', 'package', 'consumer'), folder, { recursive: true });
  await npm('npm install of the tarball', folder, ['install', '--no-audit', '--no-fund', '--prefer-offline']);
}

async function npm(what: string, folder: string, args: readonly string[]): Promise<void> {
  const cli = process.env['npm_execpath'] ?? '';
  const inFolder = ['--prefix', folder, '--silent', ...args];
  if (cli.endsWith('.js')) await step(what, folder, process.execPath, [cli, ...inFolder]);
  else await step(what, folder, 'npm', inFolder);
}

/** Everything is asynchronous, because mongod blocks on the pipe of its log while this process is blocked. */
async function step(
  what: string,
  folder: string,
  program: string,
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<void> {
  console.log(`leasehold package: ${what}`);
  try {
    await execute(program, args, { cwd: folder, env: { ...process.env, ...environment }, timeout: 120_000 });
  } catch (error) {
    const { stdout, stderr, message } = error as { stdout?: string; stderr?: string; message: string };
    throw new Error([`leasehold package: ${what}: failed`, stdout, stderr ?? message].join('\n'), {
      cause: error,
    });
  }
}

async function inNewFolder(work: (folder: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'leasehold-package-'));
  try {
    await work(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

try {
  await inNewFolder(checkPackage);
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
