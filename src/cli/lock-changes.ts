import type { LockProvider, LockSnapshot } from '../index.js';
import type { Session } from './connection.js';
import { EXIT, exitCodeOf } from './exit-codes.js';
import { Interrupted } from './interruption.js';
import { orAborted } from './or-aborted.js';

/** The pause between two reads if no change is heard, in ms. Only a read shows an expiry: no event reports it. */
const LOOK_MS = 500;

/**
 * Reads the lock and yields it, `null` if it is not stored: at once, and again after each change that a change stream
 * reports, or after `LOOK_MS` without such a change. Several changes during one read lead to only one further read.
 * Once the store has answered, an outage is reported once and waited out. Ends when the signal aborts; a time limit does
 * not cut the first read.
 *
 * @throws The error of the first read; a later one that is no outage; the error of an outage that lasts when a time limit
 *   aborts the signal; {@link Interrupted} if a signal to the process comes during a read.
 */
export async function* lockChanges(
  { db, collectionName, locks, output }: Session,
  name: string,
  signal: AbortSignal,
): AsyncGenerator<LockSnapshot | null> {
  let wake: (() => void) | undefined;
  const nextChange = (): Promise<void> => new Promise((resolve) => (wake = resolve));
  const onChange = (): void => wake?.();
  const stream = db.collection(collectionName).watch([{ $match: { 'documentKey._id': name } }]);
  stream.on('change', onChange);
  // A standalone server has no change streams, and a user may lack the privilege. The reads continue without a stream.
  stream.on('error', () => undefined);
  // A signal ends a read at once, because a read in an outage takes long. A time limit lets the read end.
  const interrupted = new AbortController();
  const onAbort = (): void => {
    onChange();
    if (signal.reason instanceof Interrupted) interrupted.abort(signal.reason);
  };
  signal.addEventListener('abort', onAbort);
  if (signal.aborted) onAbort();
  let outage: Error | undefined;
  try {
    // Made before each read, because the read may miss a change that is reported meanwhile.
    let changed = nextChange();
    let snapshot = await orAborted(locks.inspect(name), interrupted.signal);
    for (;;) {
      if (outage === undefined) yield snapshot;
      const timer = setTimeout(onChange, LOOK_MS);
      if (!signal.aborted) await changed;
      clearTimeout(timer);
      if (signal.aborted) break;
      changed = nextChange();
      const read = await orAborted(readOrOutage(locks, name), interrupted.signal);
      if (read instanceof Error && outage === undefined)
        output.say(`unavailable, reconnecting: ${read.message}`);
      if (read instanceof Error) outage = read;
      else [snapshot, outage] = [read, undefined];
    }
  } finally {
    signal.removeEventListener('abort', onAbort);
    // Not awaited: a server that does not answer keeps the close waiting, and the end of the session closes the client.
    stream.close().catch(() => undefined);
  }
  if (outage !== undefined && !(signal.reason instanceof Interrupted)) throw outage;
}

async function readOrOutage(locks: LockProvider, name: string): Promise<LockSnapshot | Error | null> {
  try {
    return await locks.inspect(name);
  } catch (error) {
    if (exitCodeOf(error) !== EXIT.unavailable) throw error;
    return error as Error;
  }
}

/**
 * A text that differs between two snapshots if they differ in the kind, the limit, the holders, the waiters, or in the
 * token, mode or published value of a holder. An extension does not change the text.
 */
export function identityOf(snapshot: LockSnapshot | null): string {
  if (snapshot === null) return '';
  const { kind, limit, holders, waiters } = snapshot;
  const seats = holders.map(({ id, token, mode, value }) => [id, token, mode, value]);
  return JSON.stringify([kind, limit, seats, waiters.map(({ id, mode, permits }) => [id, mode, permits])]);
}
