// What `doctor` reads of the stored locks.

import { CorruptDocuments } from './corrupt-documents.js';
import type { Session } from './connection.js';
import { fail, ok, warn } from './finding.js';
import type { Finding } from './finding.js';
import { orAborted } from './or-aborted.js';
import { TimeLimit } from './time-limit.js';
import { counted } from './values.js';

/** How long to read, in ms. A collection may have more documents than can be read in the time of a check. */
const READING_MS = 3_000;

/** How many corrupt documents are named. */
const NAMED = 5;

interface Reading {
  readonly documents: number;
  readonly held: number;
  readonly kept: number;
  readonly corrupt: readonly string[];
  /** Empty, or the words that say that the time was up before the last document. */
  readonly rest: string;
}

/**
 * Reads until the last document, or until the time is up. If the server has sent nothing in that time, goes on until the
 * signal aborts.
 *
 * @throws The reason of the signal, if it aborts.
 */
async function readLocks({ locks }: Session, signal: AbortSignal): Promise<Reading> {
  using corrupt = new CorruptDocuments(locks);
  const counts = { documents: 0, held: 0, kept: 0 };
  using limit = new TimeLimit(READING_MS);
  const ends = AbortSignal.any([signal, limit.signal]);
  const snapshots = locks.list();
  const first = snapshots.next();
  let next = await inTime(first, ends);
  // `list` passes over corrupt documents. If there are many, the time may be up before it yields a lock.
  if (next === undefined && corrupt.names.length === 0) next = await orAborted(first, signal);
  while (next?.done === false && !ends.aborted) {
    const { holders } = next.value;
    counts.documents += 1;
    counts.held += holders.length;
    counts.kept += holders.filter(({ keeps }) => keeps !== undefined).length;
    next = await inTime(snapshots.next(), ends);
  }
  const isWhole = next?.done === true;
  // The rest is not read. A read that is under way ends by itself, and nobody needs its result.
  if (!isWhole) snapshots.return(undefined).catch(() => undefined);
  const rest = isWhole ? '' : '; the time was up before all documents were read';
  return { ...counts, documents: counts.documents + corrupt.names.length, corrupt: [...corrupt.names], rest };
}

/** Resolves as the promise does, or with `undefined` when the signal aborts. */
async function inTime<T>(promise: Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  try {
    return await orAborted(promise, signal);
  } catch (error) {
    if (signal.aborted) return undefined;
    throw error;
  }
}

/** The checks of the stored locks. They share one read of the collection. */
export class StoredLocks {
  #reading: Promise<Reading> | undefined;

  readonly checkDocuments = async (session: Session, signal: AbortSignal): Promise<Finding> => {
    const { documents, corrupt, rest } = await this.#read(session, signal);
    if (corrupt.length === 0) return ok(`no corrupt document among ${documents}${rest}`);
    const all = counted(documents, 'document', 'documents');
    const named = corrupt.slice(0, NAMED).map((name) => JSON.stringify(name));
    const names = `${named.join(', ')}${corrupt.length > NAMED ? ', …' : ''}`;
    return fail(
      `${corrupt.length} of ${all} ${corrupt.length === 1 ? 'is' : 'are'} corrupt, and nobody can acquire these locks: ${names}${rest}`,
      'Look at the document, make sure that no process holds the lock, and delete the document; docs/operations.md has more.',
    );
  };

  readonly checkKeptSeats = async (session: Session, signal: AbortSignal): Promise<Finding> => {
    const reading = await this.#read(session, signal).catch(() => undefined);
    signal.throwIfAborted();
    if (reading === undefined)
      return warn('not run: the locks could not be read', 'The check "documents" says why.');
    const { held, kept, rest } = reading;
    const taken = counted(held, 'seat is taken', 'seats are taken');
    return ok(`${taken}; processes keep ${kept} between their callers (keepMs)${rest}`);
  };

  async #read(session: Session, signal: AbortSignal): Promise<Reading> {
    return await (this.#reading ??= readLocks(session, signal));
  }
}
