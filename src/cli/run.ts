import type { AcquireOptions, LockHandle, LockProvider } from '../index.js';
import { openSession } from './connection.js';
import type { CommonOptions } from './connection.js';
import { CommandFailure, EXIT, exitCodeOf } from './exit-codes.js';
import { doGuarded } from './guarded-work.js';
import { Interruption } from './interruption.js';

export interface RunOptions extends CommonOptions {
  readonly shared?: boolean | undefined;
  readonly exclusive?: boolean | undefined;
  readonly limit?: number | undefined;
  readonly permits?: number | undefined;
  readonly timeout?: number | undefined;
  readonly nonblock?: boolean | undefined;
  readonly conflictExitCode: number;
  readonly why?: string | undefined;
  readonly lease: number;
  readonly killAfter: number;
  readonly onLoss: 'kill' | 'warn';
  readonly command?: string | undefined;
}

/** Holds a lock while a command runs. */
export async function run(
  name: string,
  options: RunOptions,
  given: readonly string[] | undefined,
): Promise<number> {
  const command = commandOf(options.command, given);
  if (options.permits !== undefined && options.limit === undefined) {
    throw new CommandFailure(EXIT.usage, '--permits needs --limit');
  }
  const timeoutMs = options.nonblock === true ? 0 : options.timeout;
  const startedMs = performance.now();
  using interruption = new Interruption();
  const { signal } = interruption;
  // A try waits for no holder, but it waits for the store as any command does.
  const connectMs = options.nonblock === true ? undefined : timeoutMs;
  await using session = await openSession(options, { label: 'leasehold run', timeoutMs: connectMs, signal });
  const leftMs = timeoutMs && Math.max(0, timeoutMs - (performance.now() - startedMs));
  const request = { timeoutMs: leftMs, signal, leaseMs: options.lease, why: options.why };
  let hold: LockHandle;
  try {
    hold = await acquire(session.locks, name, options, request);
  } catch (error) {
    if (exitCodeOf(error) !== EXIT.busy) throw error;
    throw new CommandFailure(options.conflictExitCode, (error as Error).message, { cause: error });
  }
  const { killAfter: killAfterMs, onLoss } = options;
  const { output } = session;
  let wasHeld: boolean;
  let code: number;
  try {
    code = await doGuarded({ hold, command, killAfterMs, onLoss, interruption, output });
  } finally {
    wasHeld = await hold.release();
  }
  if (wasHeld || code === EXIT.lost) return code;
  output.say('the lock was lost before the command had ended');
  return EXIT.lost;
}

function acquire(
  locks: LockProvider,
  name: string,
  { shared, exclusive, limit, permits }: RunOptions,
  request: AcquireOptions,
): Promise<LockHandle> {
  if (shared === true) return locks.createReaderWriterLock(name).acquireRead(request);
  if (exclusive === true) return locks.createReaderWriterLock(name).acquireWrite(request);
  if (limit !== undefined) return locks.createSemaphore(name, limit).acquire({ ...request, permits });
  return locks.createMutex(name).acquire(request);
}

function commandOf(
  shellText: string | undefined,
  given: readonly string[] | undefined,
): readonly string[] | undefined {
  if (given?.length === 0) throw new CommandFailure(EXIT.usage, 'no command after --');
  if (shellText === undefined) return given;
  if (given !== undefined) throw new CommandFailure(EXIT.usage, 'give a command by -c or after --, not both');
  return ['/bin/sh', '-c', shellText];
}
