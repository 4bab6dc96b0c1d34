import { spawn } from 'node:child_process';
import type { ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';

import { BUSY_MACHINE_MS, eventually, within } from '../patience.js';
import { endWithThisProcess } from './end-with-this-process.js';
import { localEnvironment } from './local-environment.js';
import { ROOT } from './program.js';
import { asRecord, isRecord, recorded } from './record.js';

/** A line that a child tells its parent. */
interface Told {
  readonly says: string;
}

type LineOf<Line extends Told, S extends Line['says']> = Line & { readonly says: S };

export interface ChildOptions<Line extends Told = never> {
  /** Added to the environment of this process. */
  readonly env?: NodeJS.ProcessEnv | undefined;
  /** Whether it leads a process group of its own, as in a terminal. Its signals then reach the whole group. */
  readonly leadsGroup?: boolean | undefined;
  /** Called with every line as soon as it has arrived. */
  readonly onLine?: ((line: Line) => void) | undefined;
}

export interface Ending {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/**
 * A Node process as its parent sees it. It takes orders and tells lines through the functions of `parent.ts`. It is
 * killed when it is disposed of or when its parent ends, if it has not ended by itself.
 */
export class Child<Order = never, Line extends Told = never> implements AsyncDisposable {
  readonly pid: number;
  readonly lines: Line[] = [];
  /** Resolves when the process has ended and all its output has been read. */
  readonly ended: Promise<Ending>;
  readonly #process: ChildProcessByStdio<Writable, Readable, Readable>;
  readonly #leadsGroup: boolean;
  readonly #onLine: (line: Line) => void;
  #ending: Ending | undefined;
  #stdout = '';
  #stderr = '';
  /** The end of the output, until it is a whole line. A killed process may leave half a line here. */
  #unread = '';

  /** @param nodeArgs - The arguments of Node: the path of a built program, or those that `program.ts` makes. */
  constructor(
    nodeArgs: readonly string[],
    { env, leadsGroup = false, onLine = () => undefined }: ChildOptions<Line> = {},
  ) {
    this.#leadsGroup = leadsGroup;
    this.#onLine = onLine;
    this.#process = spawn(process.execPath, nodeArgs, {
      cwd: ROOT,
      stdio: ['pipe', 'pipe', 'pipe'],
      env: { ...localEnvironment(), ...env },
      detached: leadsGroup,
    });
    const { stdin, stdout, stderr, pid } = this.#process;
    if (pid === undefined) throw new Error('the process could not be started');
    this.pid = pid;
    const leave = endWithThisProcess(() => {
      this.signal('SIGKILL');
    });
    stdout.setEncoding('utf8').on('data', (chunk: string) => {
      this.#read(chunk);
    });
    stderr.setEncoding('utf8').on('data', (chunk: string) => (this.#stderr += chunk));
    // The process may have been killed just before an order.
    stdin.on('error', () => undefined);
    this.ended = once(this.#process, 'close').then(([code, signal]) => {
      leave();
      if (!isRecord(this.#unread)) this.#stdout += this.#unread;
      return (this.#ending = { code: code as number | null, signal: signal as NodeJS.Signals | null });
    });
  }

  get hasEnded(): boolean {
    return this.#ending !== undefined;
  }

  /** Everything that it has printed so far, except `lines`. */
  get stdout(): string {
    return this.#stdout;
  }

  get stderr(): string {
    return this.#stderr;
  }

  order(order: Order): void {
    this.#process.stdin.write(asRecord(order));
  }

  /** Orders, and waits for the next line of this kind. */
  async tell<S extends Line['says']>(order: Order, answer: S, boundMs?: number): Promise<LineOf<Line, S>> {
    const before = this.all(answer).length;
    this.order(order);
    return await this.heard(answer, before + 1, boundMs);
  }

  /** The n-th line of this kind, as soon as there is one. */
  async heard<S extends Line['says']>(says: S, nth = 1, boundMs?: number): Promise<LineOf<Line, S>> {
    const find = (): LineOf<Line, S> | undefined => {
      const line = this.all(says)[nth - 1];
      if (line === undefined && this.hasEnded) throw this.#unexpectedEnd(`before it said "${says}"`);
      return line;
    };
    return await eventually(`process ${this.pid} says "${says}"`, find, boundMs);
  }

  all<S extends Line['says']>(says: S): LineOf<Line, S>[] {
    return this.lines.filter((line): line is LineOf<Line, S> => line.says === says);
  }

  signal(signal: NodeJS.Signals): void {
    if (this.hasEnded) return;
    if (this.#leadsGroup) process.kill(-this.pid, signal);
    else this.#process.kill(signal);
  }

  /** Kills it and waits until it is gone; what it has written is read by then. */
  async kill(): Promise<void> {
    this.signal('SIGKILL');
    await this.ended;
  }

  /** Waits until it has ended by itself, which it must do in time and with this exit code. */
  async endsByItself(exitCode = 0, boundMs: number = BUSY_MACHINE_MS): Promise<void> {
    const { code } = await within(boundMs, `process ${this.pid} ends by itself`, this.ended);
    if (code !== exitCode) throw this.#unexpectedEnd(`and not with exit code ${exitCode}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.hasEnded) await this.kill();
  }

  #read(chunk: string): void {
    const parts = `${this.#unread}${chunk}`.split('\n');
    this.#unread = parts.pop() ?? '';
    for (const part of parts) {
      if (!isRecord(part)) {
        this.#stdout += `${part}\n`;
        continue;
      }
      const line = recorded(part) as Line;
      this.lines.push(line);
      this.#onLine(line);
    }
  }

  #unexpectedEnd(what: string): Error {
    const { code, signal } = this.#ending ?? {};
    const how = code === null ? `by ${String(signal)}` : `with exit code ${String(code)}`;
    return new Error([`process ${this.pid} ended ${how}, ${what}`, this.stdout, this.stderr].join('\n'));
  }
}

/** Runs a program that ends by itself, and resolves with what it has printed. */
export async function runToEnd(
  nodeArgs: readonly string[],
  { exitCode, ...options }: ChildOptions & { readonly exitCode?: number } = {},
): Promise<{ readonly stdout: string; readonly stderr: string }> {
  await using child = new Child(nodeArgs, options);
  await child.endsByItself(exitCode);
  return { stdout: child.stdout, stderr: child.stderr };
}
