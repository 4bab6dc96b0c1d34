import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const execute = promisify(execFile);
const folder = fileURLToPath(new URL('.', import.meta.url));
const require = createRequire(import.meta.url);

const INSTALL_TIMEOUT_MS = 60_000;
const QUIETLY = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
/** Left to itself, npm tries a registry that is out of reach for more than a minute. */
const IMPATIENTLY = ['--fetch-retries=1', '--fetch-retry-mintimeout=1000'];

/**
 * A package of the peers, which need not be installed: so each of them is declared by who loads it, as far as it is
 * used, and nothing here depends on its own types.
 */
export const load = (name: string): unknown => require(name);

/** Installs the packages of the peers, unless they are; fails if that takes too long. */
export async function installPackages(): Promise<void> {
  if (await areInstalled()) return;
  console.log('peers: installing their packages (npm ci) …');
  const args = ['ci', '--prefix', folder, ...QUIETLY, ...IMPATIENTLY];
  await execute('npm', args, { cwd: folder, timeout: INSTALL_TIMEOUT_MS }).catch((error: unknown) => {
    throw new Error(`their packages could not be installed: ${causeOf(error)}`, { cause: error });
  });
}

function causeOf(error: unknown): string {
  const { killed, stderr = '', message } = error as Error & { killed?: boolean; stderr?: string };
  if (killed === true) return `npm ci did not end within ${INSTALL_TIMEOUT_MS / 1000} s`;
  // The cause comes first; after it npm prints where to read more.
  return /^npm (?:error|ERR!) (.+)$/m.exec(stderr)?.[1] ?? message;
}

/** `redlock 5.0.0-beta.2, …` */
export async function describePackages(): Promise<string> {
  const { dependencies } = await readJson<{ dependencies: Record<string, string> }>('package.json');
  return Object.entries(dependencies)
    .map(([name, version]) => `${name} ${version}`)
    .join(', ');
}

interface Lock {
  readonly packages: Readonly<Record<string, { readonly version?: string }>>;
}

/** By the record that npm leaves only after a whole install. */
async function areInstalled(): Promise<boolean> {
  const wanted = await readJson<Lock>('package-lock.json');
  const found = await readJson<Lock>('node_modules/.package-lock.json').catch(() => undefined);
  return Object.entries(wanted.packages).every(
    ([path, { version }]) => path === '' || found?.packages[path]?.version === version,
  );
}

const readJson = async <T>(file: string): Promise<T> =>
  JSON.parse(await readFile(`${folder}${file}`, 'utf8')) as T;
