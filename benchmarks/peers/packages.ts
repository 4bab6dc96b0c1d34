import { execFile } from 'node:child_process';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const folder = fileURLToPath(new URL('.', import.meta.url));

const INSTALL_TIMEOUT_MS = 60_000;
const QUIETLY = ['--no-save', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
/** Without these options, npm tries an unreachable registry for more than a minute. */
const IMPATIENTLY = ['--prefer-offline', '--fetch-retries=1', '--fetch-retry-mintimeout=1000'];

/**
 * Loads a package of the peers. It need not be installed when this project is compiled, so its caller declares the part
 * that it uses. A built program finds the packages through NODE_PATH.
 */
export const load: (name: string) => unknown = createRequire(import.meta.url);

/** Installs the packages of the peers, unless they are there; fails if that takes too long. */
export async function installPackages(): Promise<void> {
  const args = ['install', ...QUIETLY, ...IMPATIENTLY];
  await promisify(execFile)('npm', args, { cwd: folder, timeout: INSTALL_TIMEOUT_MS });
}

/** `redlock 5.0.0-beta.2, …` */
export function describePackages(): string {
  const { dependencies } = load('./package.json') as { dependencies: Readonly<Record<string, string>> };
  return Object.entries(dependencies)
    .map(([name, version]) => `${name} ${version}`)
    .join(', ');
}
