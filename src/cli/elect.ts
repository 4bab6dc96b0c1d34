import type { LeaderElection, LeaderInfo, LockHandle } from '../index.js';
import { requireName } from './child-command.js';
import { openSession } from './connection.js';
import type { CommonOptions, Session } from './connection.js';
import { ELECTION_END_MS } from './ending.js';
import { CommandFailure, EXIT } from './exit-codes.js';
import { doGuarded } from './guarded-work.js';
import { Interruption } from './interruption.js';
import { orAborted } from './or-aborted.js';
import { RequestTime } from './request-time.js';

export interface ElectOptions extends CommonOptions {
  readonly value?: string | undefined;
  readonly lease: number;
  readonly killAfter: number;
  readonly observe?: boolean | undefined;
}

/**
 * Leads for at most one term: while a command runs, or without a command until a signal comes. A loss or a revocation
 * ends the term early. With `--observe`, prints the leaders instead.
 */
export async function elect(
  name: string,
  options: ElectOptions,
  command: readonly string[] | undefined,
): Promise<number> {
  requireName(command);
  if (options.observe === true && command !== undefined) {
    throw new CommandFailure(EXIT.usage, '--observe runs no command');
  }
  const startedMs = performance.now();
  using interruption = new Interruption();
  const { signal } = interruption;
  await using session = await openSession(options, { label: 'leasehold elect', interruption });
  if (options.observe === true) return await observe(session, name, signal);
  using time = new RequestTime(session, name, startedMs);
  return await lead(session, name, { ...options, command, interruption, time });
}

interface LeadOptions extends ElectOptions {
  readonly command: readonly string[] | undefined;
  readonly interruption: Interruption;
  readonly time: RequestTime;
}

/** The work of a term that has begun. An object, because a promise would resolve only when the work is done. */
interface Work {
  readonly done: Promise<number>;
}

async function lead(
  { locks, output, trouble, ending }: Session,
  name: string,
  { value, lease: leaseMs, killAfter: killAfterMs, command, interruption, time }: LeadOptions,
): Promise<number> {
  let begin: ((work: Work) => void) | undefined;
  const begun = new Promise<Work>((resolve) => (begin = resolve));
  let hasBegun = false;
  const wait = new AbortController();
  interruption.signal.addEventListener('abort', () => {
    // Once the work has begun, a signal does not cut it: the work ends by its own rules.
    if (!hasBegun) wait.abort(interruption.signal.reason);
  });
  const quotedName = JSON.stringify(name);
  ending.holds(`the place in the queue of election ${quotedName}`, leaseMs);
  const election: LeaderElection = locks.createLeaderElection(name, {
    value,
    leaseMs,
    // The election gives the seat back only after the returned promise has settled, that is, after the command has
    // ended.
    onElected: (term: LockHandle) => {
      hasBegun = true;
      const done = doGuarded({ hold: term, command, killAfterMs, onLoss: 'kill', interruption, output });
      ending.holds(`the term of election ${quotedName}`, leaseMs, ELECTION_END_MS);
      begin?.({ done });
      return done.then(
        () => undefined,
        () => undefined,
      );
    },
  });
  election.on('deposed', ({ why }) => {
    if (why === 'lost') ending.holdsNothing();
  });
  election.on('error', (error) => {
    trouble.failed(error);
  });
  try {
    const answered = Promise.race([election.start(), begun]);
    await orAborted(answered, AbortSignal.any([wait.signal, time.over]));
    time.answered();
    const { done } = await orAborted(begun, wait.signal);
    return await done;
  } finally {
    // The session gives back everything else in its end.
    if (election.state === 'leading') await ending.givenBack(election.stop());
  }
}

/** Prints one line for each new leader, and one when there is no leader, until a signal comes. */
async function observe({ locks, output }: Session, name: string, signal: AbortSignal): Promise<never> {
  // The observation goes on through all failures. This read tells of a store that refuses, or does not answer.
  await orAborted(locks.inspect(name), signal);
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
