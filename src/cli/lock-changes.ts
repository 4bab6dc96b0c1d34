import type { LockSnapshot } from '../index.js';
import type { Session } from './connection.js';

/** The pause between two reads if no change is heard, in ms. Without the reads, an expiry would not be noticed. */
const LOOK_MS = 500;

/**
 * Yields the lock at once, and again after a change that a change stream reports, or after half a second without one.
 * Changes during one read are shown as one.
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

/** A text that is the same for two snapshots unless the kind, the limit, a holder or a waiter has changed. */
export function identityOf(snapshot: LockSnapshot | null): string {
  if (snapshot === null) return '';
  const { kind, limit, holders, waiters } = snapshot;
  const seats = holders.map(({ id, token, mode, value }) => [id, token, mode, value]);
  return JSON.stringify([kind, limit, seats, waiters.map(({ id, mode, permits }) => [id, mode, permits])]);
}
