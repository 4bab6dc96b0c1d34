import { execFile, spawn } from 'node:child_process';
import { rmSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { killProcess } from '../../lab/mongo-server/members.js';
import { endWithThisProcess } from '../../lab/processes/end-with-this-process.js';
import { isListening } from '../../lab/ports.js';
import { sleep } from '../measure.js';

const START_TIMEOUT_MS = 30_000;

export interface Launch {
  readonly program: string;
  readonly toInstall: string;
  readonly port: number;
  /** Its data is in this folder, which is deleted with it. */
  readonly args: (folder: string) => readonly string[];
}

/** A server that was started here, with data of its own. It ends with this process at the latest. */
export interface ServerProcess extends AsyncDisposable {
  readonly pid: number;
  readonly version: string;
}

export async function startServer({ program, toInstall, port, args }: Launch): Promise<ServerProcess> {
  const version = await versionOf(program, toInstall);
  const folder = await mkdtemp(join(tmpdir(), 'leasehold-peer-'));
  const child = spawn(program, args(folder), { cwd: folder, stdio: 'ignore' });
  const deleteData = (): void => {
    rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
  };
  const leave = endWithThisProcess(() => {
    child.kill('SIGKILL');
    deleteData();
  });
  const stop = async (): Promise<void> => {
    await killProcess(child);
    leave();
    deleteData();
  };
  try {
    const endMs = performance.now() + START_TIMEOUT_MS;
    while (!(await isListening(port))) {
      if (child.exitCode !== null) throw new Error(`${program} ended with ${child.exitCode}`);
      if (performance.now() > endMs) throw new Error(`${program} did not start in time`);
      await sleep(50);
    }
  } catch (error) {
    await stop();
    throw error;
  }
  return { pid: child.pid ?? NaN, version, [Symbol.asyncDispose]: stop };
}

/** `7.0.15`, from the program itself. */
async function versionOf(program: string, toInstall: string): Promise<string> {
  const { stdout } = await promisify(execFile)(program, ['--version']).catch((error: unknown) => {
    throw new Error(`${program} is not installed; to install it: ${toInstall}`, { cause: error });
  });
  return /\d+(\.\d+)+/.exec(stdout)?.[0] ?? 'of unknown version';
}
