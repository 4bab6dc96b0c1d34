import { setTimeout as delay } from 'node:timers/promises';

import { textOf } from '../error-text.js';
import type { LockSnapshot } from '../index.js';
import { openSession } from './connection.js';
import type { CommonOptions, Session } from './connection.js';
import { EXIT } from './exit-codes.js';
import { Interruption, rejectedBy } from './interruption.js';
import { LOCK_HEAD, lockCells } from './lock-text.js';
import { Screen } from './screen.js';
import type { Lines } from './screen.js';

export interface TopOptions extends CommonOptions {
  readonly every: number;
}

/**
 * Shows the locks, the busiest first, until the user quits or a signal comes. With `--json` or without a terminal,
 * prints them once.
 */
export async function top(prefix: string | undefined, options: TopOptions): Promise<number> {
  using interruption = new Interruption();
  const { signal } = interruption;
  await using session = await openSession(options, { label: 'leasehold top', signal });
  const { output } = session;
  if (output.isJson || !process.stdout.isTTY) {
    const snapshots = await busiest(session, prefix);
    if (output.isJson) for (const snapshot of snapshots) output.row(snapshot);
    else output.table(LOCK_HEAD, snapshots.map(lockCells));
    return EXIT.ok;
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
  const ended = rejectedBy(end);
  try {
    for (;;) {
      // If the store does not answer, the read takes longer than a user waits. The race lets `q` and signals end the
      // wait.
      screen.show(await Promise.race([frame(session, prefix), ended]));
      await delay(everyMs, undefined, { signal: end });
    }
  } catch (error) {
    if (!end.aborted) throw error;
  }
}

/**
 * Reads the locks for one screen. If the read fails, the screen shows the error, and the command goes on: the next read
 * may succeed.
 */
async function frame(session: Session, prefix: string | undefined): Promise<Lines> {
  const { output } = session;
  try {
    const snapshots = await busiest(session, prefix);
    const held = snapshots.filter(({ holders }) => holders.length > 0).length;
    const waiting = snapshots.reduce((sum, { waiters }) => sum + waiters.length, 0);
    const title = `leasehold top: ${snapshots.length} locks, ${held} held, ${waiting} waiting; q quits`;
    return (columns) => [
      ...output.tableLines([title], [], columns),
      '',
      ...output.tableLines(LOCK_HEAD, snapshots.map(lockCells), columns),
    ];
  } catch (error) {
    return (columns) =>
      output.tableLines(['unavailable, reconnecting'], [[{ text: textOf(error) }]], columns);
  }
}

/**
 * The locks whose names begin with the prefix; without a prefix, all locks. Corrupt documents are left out. Locks with
 * more waiters come first; then held locks come before free ones; the rest of the order is by name.
 */
async function busiest({ locks }: Session, prefix: string | undefined): Promise<readonly LockSnapshot[]> {
  const all: LockSnapshot[] = [];
  for await (const snapshot of locks.list({ prefix })) all.push(snapshot);
  return all.sort(
    (a, b) =>
      b.waiters.length - a.waiters.length ||
      Number(b.holders.length > 0) - Number(a.holders.length > 0) ||
      (a.name < b.name ? -1 : 1),
  );
}
