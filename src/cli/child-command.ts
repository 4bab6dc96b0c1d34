import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { isatty } from 'node:tty';

import { codeOfSignal, CommandFailure, EXIT } from './exit-codes.js';

/** How often to look whether a process group has ended, in ms. */
const LOOK_MS = 50;

/**
 * How much longer than `killAfterMs` to wait for the end of a process group, in ms. If its members are zombies that
 * nobody reaps, the group never ends.
 */
const ZOMBIE_MS = 1_000;

export interface ChildOptions {
  /** Variables that the command gets in addition to the environment of this process. */
  readonly env: NodeJS.ProcessEnv;
  /** The time from the first SIGTERM or SIGHUP to SIGKILL, in ms. */
  readonly killAfterMs: number;
}

/**
 * The command under a lock. It shares stdin, stdout and stderr with this process.
 *
 * If stdin, stdout or stderr is a terminal, the command stays in the process group of this process, because only the
 * foreground group can read the terminal. The terminal then sends Ctrl-C to the command, and this class sends signals
 * to the command alone. Without a terminal, the command leads a process group of its own, and this class sends signals
 * to the whole group: a shell and what the shell started end together.
 */
export class ChildCommand {
  /**
   * Resolves with the exit code when the command has ended. If `stop` was called before, and the command led a process
   * group, the promise also waits for the end of the group, for at most `killAfterMs` + `ZOMBIE_MS`, and not before SIGKILL.
   */
  readonly ended: Promise<number>;
  readonly #process: ChildProcess;
  readonly #leadsGroup: boolean;
  readonly #killAfterMs: number;
  #killing: NodeJS.Timeout | undefined;
  /** When SIGKILL was sent. */
  #killedMs = Infinity;

  private constructor(child: ChildProcess, leadsGroup: boolean, killAfterMs: number) {
    this.#process = child;
    this.#leadsGroup = leadsGroup;
    this.#killAfterMs = killAfterMs;
    // Node.js emits `error` if this process may not send a signal to the command, because the command runs as another
    // user, for example by sudo. Without a listener, the event would be thrown.
    child.on('error', () => undefined);
    // If this process exits before the command has ended, for example after an uncaught error, no other process would
    // end the command. So the command is killed at the exit.
    const kill = (): void => void this.#send('SIGKILL');
    process.on('exit', kill);
    this.ended = new Promise<number>((resolve) => {
      child.once('exit', (code, signal) => {
        resolve(signal === null ? (code ?? EXIT.internal) : codeOfSignal(signal));
      });
    }).then(async (code) => {
      if (this.#killing !== undefined) await this.#groupEnded();
      clearTimeout(this.#killing);
      process.off('exit', kill);
      return code;
    });
  }

  /** @throws {@link CommandFailure} with 127 if the command is not found, and with 126 if it cannot be executed. */
  static async start(
    [file = '', ...args]: readonly string[],
    { env, killAfterMs }: ChildOptions,
  ): Promise<ChildCommand> {
    const leadsGroup = ![0, 1, 2].some((descriptor) => isatty(descriptor));
    try {
      const child = spawn(file, args, {
        stdio: 'inherit',
        env: { ...process.env, ...env },
        detached: leadsGroup,
      });
      const command = new ChildCommand(child, leadsGroup, killAfterMs);
      // Node.js reports some failed starts by the event `error`, and throws for others, for example for E2BIG.
      await once(child, 'spawn');
      return command;
    } catch (error) {
      throw startFailure(file, error as NodeJS.ErrnoException);
    }
  }

  /** Passes on a signal that this process has caught. */
  pass(signal: NodeJS.Signals): void {
    const isFromTerminal = signal === 'SIGINT' || signal === 'SIGQUIT';
    // If there is a terminal, this class assumes that these two signals come from the terminal. The terminal sends them
    // to the whole foreground group, so the command has the signal already.
    if (isFromTerminal && !this.#leadsGroup) return;
    if (signal === 'SIGTERM' || signal === 'SIGHUP') this.stop(signal);
    else this.#send(signal);
  }

  /**
   * Asks the command to end, and kills it after `killAfterMs`. A further call sends its signal, and does not postpone
   * the kill.
   */
  stop(signal: NodeJS.Signals = 'SIGTERM'): void {
    this.#send(signal);
    this.#killing ??= setTimeout(() => {
      this.#killedMs = performance.now();
      this.#send('SIGKILL');
    }, this.#killAfterMs);
  }

  #send(signal: NodeJS.Signals | 0): boolean {
    const { pid } = this.#process;
    if (pid === undefined) return false;
    if (!this.#leadsGroup) return this.#process.kill(signal);
    try {
      return process.kill(-pid, signal);
    } catch (error) {
      // EPERM: the group is there, but this process may not signal it, because its processes run as another user, for
      // example after `sudo`.
      return (error as NodeJS.ErrnoException).code === 'EPERM';
    }
  }

  async #groupEnded(): Promise<void> {
    const leastMs = performance.now() + this.#killAfterMs;
    // Not before the kill: if this process stood still, this loop may run before the timer of the kill, which is due too.
    const boundMs = (): number => Math.max(leastMs, this.#killedMs) + ZOMBIE_MS;
    while (this.#leadsGroup && this.#send(0) && performance.now() < boundMs()) {
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    }
  }
}

/**
 * Refuses a command that cannot be started because it has no name.
 *
 * @throws {@link CommandFailure} with 64.
 */
export function requireName(command: readonly string[] | undefined): void {
  if (command?.length === 0) throw new CommandFailure(EXIT.usage, 'no command after --');
  if (command?.[0] === '') throw new CommandFailure(EXIT.usage, 'the command after -- is empty');
}

function startFailure(file: string, error: NodeJS.ErrnoException): Error {
  // An argument of the user cannot cause a `TypeError`: `requireName` was called before.
  if (error instanceof TypeError) return error;
  if (error.code === 'ENOENT') {
    return new CommandFailure(EXIT.notFound, `${file}: command not found`, { cause: error });
  }
  const what = `cannot execute (${error.code ?? error.message})`;
  return new CommandFailure(EXIT.notExecutable, `${file}: ${what}`, { cause: error });
}
