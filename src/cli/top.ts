import { setTimeout as delay } from 'node:timers/promises';

import { textOf } from '../error-text.js';
import type { LockSnapshot } from '../index.js';
import { openSession } from './connection.js';
import type { CommonOptions, Session } from './connection.js';
import { CorruptDocuments, corruptLine } from './corrupt-documents.js';
import { EXIT, exitCodeOf } from './exit-codes.js';
import { Interruption } from './interruption.js';
import { LOCK_HEAD, lockCells } from './lock-text.js';
import { orAborted } from './or-aborted.js';
import { Screen } from './screen.js';
import type { Lines } from './screen.js';
import { counted } from './values.js';

export interface TopOptions extends CommonOptions {
  readonly every: number;
}

/**
 * Shows the locks, the busiest first, until the user quits, a signal comes, or a read fails: the first one, or a later one
 * by anything but an outage. With `--json` or without a terminal,
 * prints them once.
 */
export async function top(prefix: string | undefined, options: TopOptions): Promise<number> {
  using interruption = new Interruption();
  const { signal } = interruption;
  await using session = await openSession(options, {
    label: 'leasehold top',
    interruption,
    saysTrouble: false,
  });
  const { output } = session;
  if (output.isJson || !process.stdout.isTTY) {
    const { snapshots, corrupt } = await orAborted(busiest(session, prefix), signal);
    if (output.isJson) for (const snapshot of snapshots) output.row(snapshot);
    else output.table(LOCK_HEAD, snapshots.map(lockCells));
    for (const name of corrupt) output.say(corruptLine(name));
    return corrupt.length > 0 ? EXIT.internal : EXIT.ok;
  }
  await showUntilQuit(session, prefix, { everyMs: options.every, signal });
  if (signal.aborted) throw signal.reason;
  return EXIT.ok;
}

async function showUntilQuit(
  session: Session,
  prefix: string | undefined,
  { everyMs, signal }: { readonly everyMs: number; readonly signal: AbortSignal },
): Promise<void> {
  using screen = new Screen();
  const end = AbortSignal.any([signal, screen.quit]);
  try {
    // If the store does not answer, a read takes longer than a user waits. `q` and signals end the wait.
    for (let next = frame; ; next = frameOrOutage) {
      screen.show(await orAborted(next(session, prefix), end));
      await delay(everyMs, undefined, { signal: end });
    }
  } catch (error) {
    if (!end.aborted) throw error;
  }
}

/** Reads the locks for one screen. */
async function frame(session: Session, prefix: string | undefined): Promise<Lines> {
  const { output } = session;
  const { snapshots, corrupt } = await busiest(session, prefix);
  const held = snapshots.filter(({ holders }) => holders.length > 0).length;
  const waiting = snapshots.reduce((sum, { waiters }) => sum + waiters.length, 0);
  const leftOut = corrupt.length === 0 ? '' : `; ${corrupt.length} corrupt, left out`;
  const title = `leasehold top: ${counted(snapshots.length, 'lock', 'locks')}, ${held} held, ${waiting} waiting${leftOut}; q quits`;
  return (width, rows) => [
    ...output.tableLines([title], [], { width }),
    '',
    ...output.tableLines(LOCK_HEAD, snapshots.slice(0, rows).map(lockCells), {
      width,
      bounds: [Math.floor(width / 2)],
    }),
  ];
}

/** As `frame`. In an outage, the screen shows the error, and the command goes on: the next read may succeed. */
async function frameOrOutage(session: Session, prefix: string | undefined): Promise<Lines> {
  try {
    return await frame(session, prefix);
  } catch (error) {
    if (exitCodeOf(error) !== EXIT.unavailable) throw error;
    return (width) =>
      session.output.tableLines(['unavailable, reconnecting'], [[{ text: textOf(error) }]], { width });
  }
}

interface Listing {
  readonly snapshots: readonly LockSnapshot[];
  /** The names of the locks whose documents are corrupt. */
  readonly corrupt: readonly string[];
}

/**
 * The locks whose names begin with the prefix; without a prefix, all locks. Locks with more waiters come first; then
 * held locks come before free ones; the rest of the order is by name.
 */
async function busiest({ locks }: Session, prefix: string | undefined): Promise<Listing> {
  using corrupt = new CorruptDocuments(locks);
  const snapshots: LockSnapshot[] = [];
  for await (const snapshot of locks.list({ prefix })) snapshots.push(snapshot);
  snapshots.sort(
    (a, b) =>
      b.waiters.length - a.waiters.length ||
      Number(b.holders.length > 0) - Number(a.holders.length > 0) ||
      (a.name < b.name ? -1 : 1),
  );
  return { snapshots, corrupt: corrupt.names };
}
