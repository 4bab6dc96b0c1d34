import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const folder = fileURLToPath(new URL('.', import.meta.url));
const require = createRequire(import.meta.url);

const INSTALL_TIMEOUT_MS = 60_000;
const QUIETLY = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
/** Without these options, npm tries an unreachable registry for more than a minute. */
const IMPATIENTLY = ['--fetch-retries=1', '--fetch-retry-mintimeout=1000'];

/**
 * Loads a package of the peers. It need not be installed when this project is compiled, so its caller declares the part
 * that it uses.
 */
export const load = (name: string): unknown => require(name);

/** Installs the packages of the peers if one is missing or of another version; fails if that takes too long. */
export async function installPackages(): Promise<void> {
  const wanted = await wantedPackages();
  const installed = await Promise.all(Object.keys(wanted).map(installedVersion));
  if (Object.values(wanted).every((version, index) => version === installed[index])) return;
  console.log('peers: installing their packages (npm ci) …');
  const args = ['ci', '--prefix', folder, ...QUIETLY, ...IMPATIENTLY];
  await promisify(execFile)('npm', args, { cwd: folder, timeout: INSTALL_TIMEOUT_MS }).catch(
    (error: unknown) => {
      const why = error instanceof Error ? error.message : String(error);
      throw new Error(`the packages of the peers could not be installed: ${why}`, { cause: error });
    },
  );
}

/** `redlock 5.0.0-beta.2, …` */
export const describePackages = async (): Promise<string> =>
  Object.entries(await wantedPackages())
    .map(([name, version]) => `${name} ${version}`)
    .join(', ');

const wantedPackages = async (): Promise<Readonly<Record<string, string>>> =>
  (await readJson<{ dependencies: Record<string, string> }>('package.json')).dependencies;

const installedVersion = async (name: string): Promise<string | undefined> =>
  await readJson<{ version: string }>(`node_modules/${name}/package.json`).then(
    ({ version }) => version,
    () => undefined,
  );

const readJson = async <T>(file: string): Promise<T> =>
  JSON.parse(await readFile(`${folder}${file}`, 'utf8')) as T;
