import { textOf } from '../error-text.js';
import type { LeaderElection, LeaderInfo, LockHandle } from '../index.js';
import { openSession } from './connection.js';
import type { CommonOptions, Session } from './connection.js';
import { CommandFailure, EXIT } from './exit-codes.js';
import { doGuarded } from './guarded-work.js';
import { Interruption, rejectedBy } from './interruption.js';

export interface ElectOptions extends CommonOptions {
  readonly value?: string | undefined;
  readonly lease: number;
  readonly killAfter: number;
  readonly observe?: boolean | undefined;
}

/** Leads for one term, while a command runs or until a signal. With `--observe`, prints the leaders instead. */
export async function elect(
  name: string,
  options: ElectOptions,
  command: readonly string[] | undefined,
): Promise<number> {
  if (command?.length === 0) throw new CommandFailure(EXIT.usage, 'no command after --');
  if (options.observe === true && command !== undefined) {
    throw new CommandFailure(EXIT.usage, '--observe runs no command');
  }
  using interruption = new Interruption();
  const { signal } = interruption;
  await using session = await openSession(options, { label: 'leasehold elect', signal });
  if (options.observe === true) return await observe(session, name, signal);
  return await lead(session, name, { ...options, command, interruption });
}

async function lead(
  { locks, output }: Session,
  name: string,
  {
    value,
    lease: leaseMs,
    killAfter: killAfterMs,
    command,
    interruption,
  }: ElectOptions & { readonly command: readonly string[] | undefined; readonly interruption: Interruption },
): Promise<number> {
  let begin: ((work: Promise<number>) => void) | undefined;
  const work = new Promise<number>((resolve) => (begin = resolve));
  const election: LeaderElection = locks.createLeaderElection(name, {
    value,
    leaseMs,
    // The election gives the seat back only after the returned promise has settled, that is, after the command has
    // ended.
    onElected: (term: LockHandle) => {
      const done = doGuarded({ hold: term, command, killAfterMs, onLoss: 'kill', interruption, output });
      begin?.(done);
      return done.then(
        () => undefined,
        () => undefined,
      );
    },
  });
  election.on('error', (error) => {
    output.say(textOf(error));
  });
  const interrupted = rejectedBy(interruption.signal);
  try {
    await Promise.race([election.start(), interrupted]);
    return await Promise.race([work, interrupted]);
  } finally {
    await election.stop();
  }
}

/** Prints one line for each new leader, and one when there is no leader, until a signal comes. */
async function observe({ locks, output }: Session, name: string, signal: AbortSignal): Promise<never> {
  const election = locks.createLeaderElection(name);
  for await (const leader of election.observe({ signal })) {
    if (output.isJson) output.row(leader ?? { candidateId: null });
    else output.line(leader === null ? 'no leader' : described(leader));
  }
  throw signal.reason;
}

const described = ({ candidateId, value, token, electedAt }: LeaderInfo): string =>
  [
    `leader ${candidateId}`,
    `token ${token}`,
    `since ${electedAt.toISOString()}`,
    value === '' ? '' : `value ${value}`,
  ]
    .filter((part) => part !== '')
    .join('  ');
