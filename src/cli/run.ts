import { setTimeout as delay } from 'node:timers/promises';

import type { AcquireOptions, LockHandle, LockProvider } from '../index.js';
import { requireName } from './child-command.js';
import { openSession } from './connection.js';
import type { CommonOptions } from './connection.js';
import { ELECTION_END_MS } from './ending.js';
import { CommandFailure, EXIT, exitCodeOf } from './exit-codes.js';
import { doGuarded } from './guarded-work.js';
import { Interruption } from './interruption.js';
import { RequestTime } from './request-time.js';

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
  readonly holdAtLeast?: number | undefined;
  readonly killAfter: number;
  readonly onLoss: 'kill' | 'warn';
  readonly command?: string | undefined;
}

/**
 * Holds a lock while a command runs. If the command ends before `--hold-at-least` is over, `keep` prolongs the hold.
 * Without a command, holds the lock until a signal comes, or the hold is lost or revoked.
 */
export async function run(
  name: string,
  options: RunOptions,
  given: readonly string[] | undefined,
): Promise<number> {
  const command = commandOf(options.command, given);
  const timeoutMs = options.nonblock === true ? 0 : options.timeout;
  const startedMs = performance.now();
  using interruption = new Interruption();
  const { signal } = interruption;
  // A try waits for no holder, but it waits for the store as any command does.
  const connectMs = options.nonblock === true ? undefined : timeoutMs;
  await using session = await openSession(options, {
    label: 'leasehold run',
    timeoutMs: connectMs,
    interruption,
  });
  const { ending, output } = session;
  ending.holds(`the place in the queue of lock ${JSON.stringify(name)}`, options.lease);
  let hold: LockHandle;
  try {
    using time = new RequestTime(session, name, startedMs, timeoutMs);
    hold = await acquireInTime(session.locks, name, options, time, signal);
  } catch (error) {
    if (exitCodeOf(error) !== EXIT.busy) throw error;
    // With -E 0, a busy lock or a timeout is no failure, and nothing is printed: cron would send every printed text as
    // a mail.
    if (options.conflictExitCode === EXIT.ok) return EXIT.ok;
    throw new CommandFailure(options.conflictExitCode, (error as Error).message, { cause: error });
  }
  const heldSinceMs = performance.now();
  const { killAfter: killAfterMs, onLoss, holdAtLeast: atLeastMs = 0 } = options;
  ending.holds(`lock ${JSON.stringify(name)}`, options.lease, ELECTION_END_MS);
  let wasHeld: boolean | undefined;
  let code: number;
  try {
    code = await doGuarded({ hold, command, killAfterMs, onLoss, interruption, output });
    const restMs = atLeastMs - (performance.now() - heldSinceMs);
    if (restMs > 0) await keep(hold, restMs, interruption.ending);
  } finally {
    wasHeld = await ending.givenBack(hold.release());
  }
  if (wasHeld !== false || code === EXIT.lost) return code;
  const ended = atLeastMs > 0 ? 'the command or --hold-at-least' : 'the command';
  output.say(`the lock was lost before ${ended} had ended`);
  return EXIT.lost;
}

/**
 * Keeps the lock for `restMs` although its command has ended. A signal that asks this process to end, a revocation or a
 * loss ends the wait early.
 */
async function keep(hold: LockHandle, restMs: number, ending: AbortSignal): Promise<void> {
  const signal = AbortSignal.any([ending, hold.signal, hold.releaseRequested]);
  await delay(restMs, undefined, { signal }).catch(() => undefined);
}

async function acquireInTime(
  locks: LockProvider,
  name: string,
  options: RunOptions,
  time: RequestTime,
  interrupted: AbortSignal,
): Promise<LockHandle> {
  const signal = AbortSignal.any([interrupted, time.over]);
  const request = { timeoutMs: time.requestMs, signal, leaseMs: options.lease, why: options.why };
  try {
    return await acquire(locks, name, options, request);
  } catch (error) {
    throw await time.explained(error);
  }
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
  requireName(given);
  if (shellText === undefined) return given;
  if (given !== undefined) throw new CommandFailure(EXIT.usage, 'give a command by -c or after --, not both');
  return ['/bin/sh', '-c', shellText];
}
