import type { LockSnapshot } from '../index.js';
import type { Session } from './connection.js';

/** The pause between two reads if no change is heard, in ms. Only a read shows an expiry: no event reports it. */
const LOOK_MS = 500;

/**
 * Reads the lock and yields it, `null` if it is not stored: at once, and again after each change that a change stream
 * reports, or after `LOOK_MS` without such a change. Several changes during one read lead to only one further read.
 * Ends when the signal aborts, but not before the first read.
 */
export async function* lockChanges(
  { db, collectionName, locks }: Session,
  name: string,
  signal: AbortSignal,
): AsyncGenerator<LockSnapshot | null> {
  let wake: (() => void) | undefined;
  const onChange = (): void => wake?.();
  const stream = db.collection(collectionName).watch([{ $match: { 'documentKey._id': name } }]);
  stream.on('change', onChange);
  // A standalone server has no change streams, and a user may lack the privilege. The reads continue without a stream.
  stream.on('error', () => undefined);
  signal.addEventListener('abort', onChange);
  try {
    do {
      const changed = new Promise<void>((resolve) => (wake = resolve));
      yield await locks.inspect(name);
      const timer = setTimeout(onChange, LOOK_MS);
      if (!signal.aborted) await changed;
      clearTimeout(timer);
    } while (!signal.aborted);
  } finally {
    await stream.close().catch(() => undefined);
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
