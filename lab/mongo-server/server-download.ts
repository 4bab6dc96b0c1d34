import { spawn } from 'node:child_process';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';

import { DryMongoBinary } from 'mongodb-memory-server';

import {
  cacheFolder,
  type Finding,
  inspectMongod,
  lastLine,
  projectFolder,
  type Say,
} from './mongod-binary.js';

/** How long the download may make no headway before it counts as out of reach. */
const patienceMs = 15_000;
const rememberForMs = 24 * 60 * 60 * 1000;

const failureFile = join(cacheFolder, 'server-download-failed.json');

interface Failure {
  readonly atMs: number;
  readonly why: string;
}

/** The mongod that mongodb-memory-server keeps in its own cache, downloaded there if need be. */
export async function findDownloaded(say: Say): Promise<Finding> {
  const name = "mongodb-memory-server's download";
  const present = await locate();
  if (present !== undefined) return inspectMongod(present, `${name}, cached`);

  const remembered = await rememberedFailure();
  if (remembered !== undefined) {
    const file = relative(projectFolder, failureFile);
    return { missing: `failed within the last day: ${remembered.why} (delete ${file} to try again)` };
  }
  say('leasehold: no mongod on this machine yet, trying the download of mongodb-memory-server …');
  const why = await download();
  const path = await locate();
  if (path === undefined) {
    await rememberFailure({ atMs: Date.now(), why });
    return { missing: why };
  }
  await rm(failureFile, { force: true });
  return inspectMongod(path, name);
}

async function locate(): Promise<string | undefined> {
  // It throws for a platform that it has no download for; to us that is one more way of having none.
  return DryMongoBinary.locateBinary(DryMongoBinary.getEnsuredOptions()).catch(() => undefined);
}

/**
 * Runs the download in a process of its own, which can be ended when it hangs and whose output is ours to
 * keep. Answers why it failed, or an empty string.
 */
async function download(): Promise<string> {
  const script = `
    import { MongoBinary } from 'mongodb-memory-server';
    MongoBinary.getPath().catch((error) => {
      console.error(error.message.replace(/\\s+/g, ' '));
      process.exitCode = 1;
    });`;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', script], {
    cwd: projectFolder,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { MONGOMS_MAX_RETRIES: '1', ...process.env },
  });
  return new Promise((resolve) => {
    let complaint = '';
    const giveUp = setTimeout(() => {
      complaint = `no answer within ${patienceMs / 1000} s`;
      child.kill('SIGKILL');
    }, patienceMs);
    child.stdout.on('data', () => giveUp.refresh());
    child.stderr.on('data', (chunk: Buffer) => {
      complaint += chunk.toString();
    });
    child.on('error', (error) => {
      complaint = error.message;
    });
    child.on('close', () => {
      clearTimeout(giveUp);
      resolve(complaint === '' ? '' : lastLine({ stderr: complaint }));
    });
  });
}

async function rememberedFailure(): Promise<Failure | undefined> {
  try {
    const failure = JSON.parse(await readFile(failureFile, 'utf8')) as Failure;
    return Date.now() - failure.atMs < rememberForMs ? failure : undefined;
  } catch {
    return undefined;
  }
}

async function rememberFailure(failure: Failure): Promise<void> {
  await mkdir(dirname(failureFile), { recursive: true });
  await writeFile(failureFile, JSON.stringify(failure));
}
