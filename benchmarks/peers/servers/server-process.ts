import { execFile, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { access, chown, constants, mkdtemp } from 'node:fs/promises';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { endWithThisProcess } from '../../../lab/mongo-server/members.js';

const execute = promisify(execFile);

const START_TIMEOUT_MS = 30_000;

export interface Launch {
  readonly program: string;
  readonly args: readonly string[];
  /** The folder of its data, which is deleted with it. */
  readonly folder: string;
  /** Matches the line of its output that says that it accepts connections. */
  readonly isReady: RegExp;
  /** The user that it runs as, for a server that refuses to run as root. */
  readonly user?: User;
  /** The signal that ends it at once, with its children. */
  readonly stopSignal?: NodeJS.Signals;
}

export interface User {
  readonly uid: number;
  readonly gid: number;
}

/** A server that was started here, with data of its own. It ends with this process at the latest. */
export class ServerProcess implements AsyncDisposable {
  readonly pid: number;
  readonly #child: ChildProcess;
  readonly #stopSignal: NodeJS.Signals;
  readonly #folder: string;
  readonly #leave: () => void;

  private constructor(child: ChildProcess, pid: number, { folder, stopSignal = 'SIGKILL' }: Launch) {
    this.pid = pid;
    this.#child = child;
    this.#stopSignal = stopSignal;
    this.#folder = folder;
    this.#leave = endWithThisProcess(() => {
      child.kill(stopSignal);
      this.#deleteData();
    });
  }

  static async start(launch: Launch): Promise<ServerProcess> {
    const { program, args, folder, user, isReady } = launch;
    const child = spawn(program, args, { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'], ...user });
    if (child.pid === undefined) throw new Error(`${program} does not start`);
    const server = new ServerProcess(child, child.pid, launch);
    try {
      await untilReady(child, program, isReady);
    } catch (error) {
      await server[Symbol.asyncDispose]();
      throw error;
    }
    return server;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) {
      const closed = once(this.#child, 'close');
      this.#child.kill(this.#stopSignal);
      await closed;
    }
    this.#leave();
    this.#deleteData();
  }

  #deleteData(): void {
    rmSync(this.#folder, { recursive: true, force: true, maxRetries: 3 });
  }
}

async function untilReady(child: ChildProcess, program: string, isReady: RegExp): Promise<void> {
  let last = '';
  let tooLong: NodeJS.Timeout | undefined;
  const ready = new Promise<void>((resolve, reject) => {
    const fail = (what: string): void => {
      reject(new Error(`${program} ${what}; its last line: ${last}`));
    };
    // Read all output to the end: a full pipe would block the server.
    for (const output of [child.stdout, child.stderr]) {
      if (output === null) continue;
      createInterface(output).on('line', (line) => {
        last = line;
        if (isReady.test(line)) resolve();
      });
    }
    child.on('exit', () => {
      fail('ended');
    });
    tooLong = setTimeout(fail, START_TIMEOUT_MS, `was not ready after ${START_TIMEOUT_MS / 1000} s`);
  });
  await ready.finally(() => {
    clearTimeout(tooLong);
  });
}

/** Finds the first executable of this name on the PATH or in the folders where systems keep servers. */
export async function findProgram(
  name: string,
  toInstall: string,
  folders: readonly string[] = [],
): Promise<string> {
  const path = (process.env['PATH'] ?? '').split(delimiter);
  for (const folder of [...path, '/usr/sbin', '/usr/local/sbin', ...folders]) {
    const file = join(folder, name);
    const isThere = await access(file, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (isThere) return file;
  }
  throw new Error(`${name} is not installed; to install it: ${toInstall}`);
}

/** `7.0.15`, from the program itself. */
export async function versionOf(program: string): Promise<string> {
  const { stdout } = await execute(program, ['--version']);
  return /\d+(\.\d+)+/.exec(stdout)?.[0] ?? 'of unknown version';
}

export async function newFolder(user?: User): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'leasehold-peer-'));
  if (user !== undefined) await chown(folder, user.uid, user.gid);
  return folder;
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
