import { spawn } from 'node:child_process';
import type { ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Readable, Writable } from 'node:stream';

import type { Document } from 'mongodb';
import { build } from 'tsup';
import { afterAll, beforeAll } from 'vitest';

import { endWithThisProcess } from '../../../lab/processes/end-with-this-process.js';
import { Child } from '../../../lab/processes/child.js';
import { cacheFolder } from '../../../lab/processes/program.js';
import { BUSY_MACHINE_MS, eventually, within } from '../../../lab/patience.js';
import { COMMAND_LINE } from '../../../scripts/entries.js';
import { untilTestEnds } from '../../support/current-test.js';
import { failCommands, ownDatabase, randomName } from '../../support/test-provider.js';
import type { OwnDatabase } from '../../support/test-provider.js';

let program = '';
let remove: (() => Promise<void>) | undefined;

/** Builds the command line before the tests of a file, with the library inside. */
export function useCommandLine(): void {
  beforeAll(async () => {
    const folder = await cacheFolder('command-line');
    remove = async () => {
      await folder[Symbol.asyncDispose]();
    };
    await build({ ...COMMAND_LINE, config: false, outDir: folder.path, dts: false, silent: true });
    program = join(folder.path, 'main.js');
  });
  afterAll(async () => {
    await remove?.();
  });
}

/** The command line as a line for a shell. */
export const commandOf = (...args: readonly string[]): string =>
  [process.execPath, program, ...args].join(' ');

/** The folder of the built command line. */
export const programFolder = (): string => dirname(program);

/** Each command about locks, with arguments that are right. */
export const LOCK_CALLS: readonly (readonly string[])[] = [
  ['run', 'x', '--', 'true'],
  ['elect', 'x', '--', 'true'],
  ['elect', 'x', '--observe'],
  ['ls'],
  ['show', 'x'],
  ['watch', 'x'],
  ['wait', 'x'],
  ['revoke', 'x'],
  ['resize', 'x', '3'],
  ['top'],
  ['dashboard'],
];

export interface Result {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** Variables of the machine that would change what a command does. */
const NEUTRAL: Environment = {
  MONGODB_URI: undefined,
  NO_COLOR: undefined,
  NODE_DISABLE_COLORS: undefined,
  FORCE_COLOR: undefined,
  COLORTERM: undefined,
  TMUX: undefined,
  CI: undefined,
};

/** Runs the command line in a folder without packages, as it is where nothing but the package is installed. */
export async function callAlone(args: readonly string[], env: Environment): Promise<Result> {
  const folder = await mkdtemp(join(tmpdir(), 'leasehold-command-line-'));
  try {
    await cp(programFolder(), join(folder, 'dist', 'cli'), { recursive: true });
    await cp('package.json', join(folder, 'package.json'));
    const path = join(folder, 'dist', 'cli', 'main.js');
    return await resultOf(untilTestEnds(new Child<string>([path, ...args], { env })));
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** Starts the command line. The process ends with the test. */
export function start(args: readonly string[], env: Environment = {}): Child<string> {
  return untilTestEnds(new Child<string>([program, ...args], { env: { ...NEUTRAL, ...env } }));
}

export async function resultOf(child: Child<string>, boundMs: number = BUSY_MACHINE_MS): Promise<Result> {
  const { code, signal } = await within(boundMs, 'the command ends', child.ended);
  return { code, signal, stdout: child.stdout, stderr: child.stderr };
}

export async function call(args: readonly string[], env?: Environment): Promise<Result> {
  return await resultOf(start(args, env));
}

/** A database of one test, and the command line on it. */
export class Fleet {
  readonly database: OwnDatabase = ownDatabase();
  readonly env: Environment = { LEASEHOLD_URI: this.database.uri, LEASEHOLD_DB: this.database.name };
  readonly locks = this.database.plain.provider();

  start(...args: readonly string[]): Child<string> {
    return start(args, this.env);
  }

  startWith(env: Environment, ...args: readonly string[]): Child<string> {
    return start(args, { ...this.env, ...env });
  }

  async call(...args: readonly string[]): Promise<Result> {
    return await call(args, this.env);
  }

  /** The environment of a command whose commands to the server fail as `data` says, until the test ends. */
  async failing(data: Document & { failCommands: string[] }): Promise<Environment> {
    const [env, fail] = this.failingLater(data);
    await fail();
    return env;
  }

  /** As `failing`, but only after a call of the function. */
  failingLater(data: Document & { failCommands: string[] }): readonly [Environment, () => Promise<unknown>] {
    const appName = randomName('command-line');
    const env = { LEASEHOLD_URI: this.database.uri.replace('/?', `/?appName=${appName}&`) };
    return [env, () => failCommands({ appName }, 'alwaysOn', data)];
  }

  async untilHeld(name: string, holders = 1): Promise<void> {
    await eventually(`${name} has ${holders} holders`, async (see) => {
      return see(await this.locks.inspect(name))?.holders.length === holders;
    });
  }

  async untilQueued(name: string, waiters = 1): Promise<void> {
    await eventually(`${name} has ${waiters} waiters`, async (see) => {
      return see(await this.locks.inspect(name))?.waiters.length === waiters;
    });
  }
}

/** Waits until the process has printed this, and returns what it has printed. */
export async function untilPrinted(
  child: { readonly stdout: string },
  text: string | RegExp,
): Promise<string> {
  return await eventually(`it prints ${String(text)}`, (see) => {
    const printed = see(child.stdout);
    return (typeof text === 'string' ? printed.includes(text) : text.test(printed)) ? printed : null;
  });
}

/** Arguments that run a Node program as the command under a lock. */
export const node = (source: string): readonly string[] => ['--', process.execPath, '-e', source];

/** Prints `up`, and then lives until a signal. */
export const LIVES = 'console.log("up"); setInterval(() => {}, 1000);';

const PSEUDO_TERMINAL = join(import.meta.dirname, 'pseudo-terminal.py');

/** The command line in a pseudo-terminal, which python3 makes. What it prints on either stream is `stdout`. */
export class InTerminal implements AsyncDisposable {
  readonly ended: Promise<number | null>;
  #stdout = '';
  readonly #process: ChildProcessByStdio<Writable, Readable, null>;
  readonly #sizes: Writable;

  constructor(args: readonly string[], env: Environment) {
    this.#process = spawn('python3', [PSEUDO_TERMINAL, process.execPath, program, ...args], {
      env: { ...process.env, ...NEUTRAL, TERM: 'xterm-256color', ...env },
      stdio: ['pipe', 'pipe', 'inherit', 'pipe'],
    }) as ChildProcessByStdio<Writable, Readable, null>;
    this.#sizes = this.#process.stdio[3] as Writable;
    this.#sizes.on('error', () => undefined);
    this.#process.stdin.on('error', () => undefined);
    this.#process.stdout.setEncoding('utf8').on('data', (chunk: string) => (this.#stdout += chunk));
    const leave = endWithThisProcess(() => this.#process.kill('SIGKILL'));
    this.ended = once(this.#process, 'close').then(([code]) => {
      leave();
      return code as number | null;
    });
  }

  get stdout(): string {
    return this.#stdout;
  }

  type(keys: string): void {
    this.#process.stdin.write(keys);
  }

  resize(columns: number, rows: number): void {
    this.#sizes.write(`${columns} ${rows}\n`);
  }

  /** Closes the window: the terminal is gone, and the command gets SIGHUP. */
  close(): void {
    this.#process.kill('SIGKILL');
  }

  async exitCode(): Promise<number | null> {
    return await within(BUSY_MACHINE_MS, 'the command in the terminal ends', this.ended);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#process.exitCode === null) this.#process.kill('SIGKILL');
    await this.ended;
  }
}

export const inTerminal = (fleet: Fleet, ...args: readonly string[]): InTerminal =>
  inTerminalWith(fleet, {}, ...args);

export const inTerminalWith = (fleet: Fleet, env: Environment, ...args: readonly string[]): InTerminal =>
  untilTestEnds(new InTerminal(args, { ...fleet.env, ...env }));
