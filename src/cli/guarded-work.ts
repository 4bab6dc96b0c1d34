// What `run` and `elect` do while they hold a seat: the command runs, or the token is printed and nothing runs.

import { textOf } from '../error-text.js';
import type { LockHandle } from '../index.js';
import { ChildCommand } from './child-command.js';
import { codeOfSignal, CommandFailure, EXIT } from './exit-codes.js';
import type { Interruption } from './interruption.js';
import type { Output } from './output.js';

export interface GuardedWork {
  readonly hold: LockHandle;
  /** The command with its arguments; `undefined`: no command runs. */
  readonly command: readonly string[] | undefined;
  readonly killAfterMs: number;
  /** After a loss or a revocation, `kill` ends the command, and `warn` lets it go on. */
  readonly onLoss: 'kill' | 'warn';
  readonly interruption: Interruption;
  readonly output: Output;
}

/**
 * Runs until the command has ended. Without a command, runs until a signal comes or the hold is lost or revoked.
 * Releases nothing.
 *
 * @throws The reason of the interruption, if a signal came before the work began. {@link CommandFailure} with 76, if
 *   the hold was lost or revoked before the work began; with 126 or 127, if the command cannot be started.
 * @returns The exit code: 76 if the hold was lost or revoked meanwhile. Otherwise, with a command: the exit code of the
 *   command. Without a command: 0 after SIGINT or SIGTERM; the exit code of the signal after any other signal.
 */
export async function doGuarded(work: GuardedWork): Promise<number> {
  const { hold, output } = work;
  const loss = new AbortController();
  // At a revocation, both signals of a term abort, and only the reason of `releaseRequested` names the revoker.
  const signals = [hold.releaseRequested, hold.signal];
  const onLost = (): void => {
    if (loss.signal.aborted) return;
    // Ends the command first: printing the message may take time.
    loss.abort();
    output.say(textOf(signals.find(({ aborted }) => aborted)?.reason));
    if (work.command !== undefined && work.onLoss === 'warn')
      output.say('the command goes on without the lock (--on-loss warn)');
  };
  for (const signal of signals) signal.addEventListener('abort', onLost);
  try {
    const over = signals.find(({ aborted }) => aborted);
    if (over !== undefined) throw new CommandFailure(EXIT.lost, textOf(over.reason));
    // A signal that has come since the grant has the same effect as one before the grant, because no work has begun.
    work.interruption.signal.throwIfAborted();
    const code = await (work.command === undefined
      ? holdUntilSignal(work, loss.signal)
      : runCommand(work, work.command, loss.signal));
    return loss.signal.aborted ? EXIT.lost : code;
  } finally {
    for (const signal of signals) signal.removeEventListener('abort', onLost);
  }
}

async function runCommand(
  { hold, killAfterMs, onLoss, interruption }: GuardedWork,
  command: readonly string[],
  loss: AbortSignal,
): Promise<number> {
  const env = { LEASEHOLD_NAME: hold.name, LEASEHOLD_TOKEN: String(hold.fencingToken) };
  const child = await ChildCommand.start(command, { env, killAfterMs });
  interruption.divert((signal) => {
    child.pass(signal);
  });
  // A signal may have come while the command was started.
  if (interruption.signal.aborted) child.stop();
  const onLost = (): void => {
    if (onLoss === 'kill') child.stop();
  };
  if (loss.aborted) onLost();
  else loss.addEventListener('abort', onLost);
  const code = await child.ended;
  // From now on, no signal goes to the command: after its end, another process may soon have its pid.
  interruption.divert(() => undefined);
  return code;
}

async function holdUntilSignal(
  { hold, interruption, output }: GuardedWork,
  loss: AbortSignal,
): Promise<number> {
  if (output.isJson) output.row({ token: hold.fencingToken });
  else output.line(String(hold.fencingToken));
  return await new Promise<number>((resolve) => {
    loss.addEventListener('abort', () => {
      resolve(EXIT.lost);
    });
    interruption.divert((signal) => {
      resolve(signal === 'SIGINT' || signal === 'SIGTERM' ? EXIT.ok : codeOfSignal(signal));
    });
  });
}
