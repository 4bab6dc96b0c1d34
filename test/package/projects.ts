// The projects of test/package/projects: each is a small application that uses the packed library in its own way. They
// are installed and run in copies below .cache, so that a further run downloads nothing that is there already.
import { execFile } from 'node:child_process';
import { copyFile, cp, mkdir, readFile, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { ROOT } from '../../lab/processes/program.js';
import { givenTarball } from './given-tarball.js';

const execute = promisify(execFile);
const SOURCES = join(ROOT, 'test', 'package', 'projects');
const COPIES = join(ROOT, '.cache', 'package');
const DOWNLOADS = join(ROOT, '.cache', 'npm');
const TARBALL = join(COPIES, 'leasehold.tgz');

/** The longest project takes a minute on two cores, in two commands. These bounds end what hangs. */
const COMMAND_BOUND_MS = 540_000;
export const BOUND_MS: number = 2 * COMMAND_BOUND_MS + 60_000;

/** The names of the folders of the projects. */
export const projectNames = async (): Promise<readonly string[]> => (await readdir(SOURCES)).sort();

/** Builds the library and packs it, unless a packed one is given. All projects install this tarball. */
export async function packLibrary(): Promise<void> {
  await mkdir(COPIES, { recursive: true });
  if (givenTarball !== undefined) {
    await copyFile(givenTarball, TARBALL);
    return;
  }
  await run(ROOT, 'npm', ['run', 'build']);
  const { stdout } = await run(ROOT, 'npm', ['pack', '--json', '--pack-destination', COPIES]);
  const [{ filename } = { filename: '' }] = JSON.parse(stdout) as { filename: string }[];
  await rename(join(COPIES, filename), TARBALL);
}

/** Installs one project and runs its script `test`. Returns what it has printed; rejects if it fails. */
export async function runProject(name: string, uri: string): Promise<string> {
  const folder = join(COPIES, name);
  await copySources(name, folder);
  // npm would keep an older tarball of the same version.
  for (const kept of ['leasehold', 'leasehold-again', '.package-lock.json']) {
    await rm(join(folder, 'node_modules', kept), { recursive: true, force: true });
  }
  const flags = ['--no-audit', '--no-fund', '--no-package-lock', '--loglevel=error', '--prefer-offline'];
  await run(folder, 'npm', ['install', ...flags, '--cache', DOWNLOADS]);
  const { stdout, stderr } = await run(folder, 'npm', ['test', '--silent'], { MONGODB_URI: uri });
  return `${stdout}${stderr}`;
}

/** Replaces the files of the copy, but not its `node_modules`. */
async function copySources(name: string, folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  for (const old of await readdir(folder)) {
    if (old !== 'node_modules') await rm(join(folder, old), { recursive: true });
  }
  const manifest = JSON.parse(await readFile(join(SOURCES, name, 'package.json'), 'utf8')) as {
    config?: { filesOf?: string };
  };
  // A project may be another one with other dependencies.
  const { filesOf } = manifest.config ?? {};
  if (filesOf !== undefined) await cp(join(SOURCES, filesOf), folder, { recursive: true });
  await cp(join(SOURCES, name), folder, { recursive: true });
  // Stops tools that look for a configuration in the folders above.
  await writeFile(join(folder, '.npmrc'), '');
}

async function run(
  cwd: string,
  command: string,
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<{ stdout: string; stderr: string }> {
  try {
    const env = { ...withoutTools(process.env), ...environment };
    return await execute(command, args, {
      ...{ cwd, env, maxBuffer: 64 * 1024 * 1024, timeout: COMMAND_BOUND_MS },
      shell: process.platform === 'win32',
    });
  } catch (error) {
    const {
      stdout = '',
      stderr = '',
      message,
    } = error as { stdout?: string; stderr?: string; message: string };
    throw new Error([`${cwd}: ${command} ${args.join(' ')}: ${message}`, stdout, stderr].join('\n'), {
      cause: error,
    });
  }
}

/** The environment without what Vitest and npm set for their own children. */
const withoutTools = (environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv =>
  Object.fromEntries(
    Object.entries(environment).filter(
      ([name]) =>
        !/^(npm_|vitest|vite_|jest_)/i.test(name) &&
        !['NODE_ENV', 'NODE_OPTIONS', 'TEST', 'DEV', 'PROD', 'MODE', 'SSR', 'BASE_URL'].includes(name),
    ),
  );
