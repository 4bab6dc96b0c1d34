import type { ClientSession, Collection, MongoClient, TransactionOptions } from 'mongodb';
import { Backoff } from '../backoff.js';
import type { DriverSession, DriverTransactionOptions, DriverTransactions } from '../driver-types.js';
import { surroundingsOf } from '../surroundings.js';
import { UnsupportedServerError } from '../errors.js';
import type { LockHandle } from '../lease/holding/lock-handle.js';
import { object, optional, orElse, outOfRange, knownOptions, wrongType } from '../options/checks.js';
import { given as defined } from './driver-options.js';
import type { KeysOf } from '../options/unknown-keys.js';
import { allFencedBy } from './fence.js';
import type { FencedBy } from './fence.js';
import { GuardedUpdate } from './guarded-update.js';
import { storing } from './token-field.js';

/** Options of a fenced transaction. */
export interface FencedTransactionOptions {
  /** The name of the collection that has one fence document per lock. Default: `distributed.fences`. */
  collectionName?: string | undefined;
  /**
   * The name of the database of that collection. Default: the database of the locks; for locks of a quorum, the
   * database that the connection string of the client names. Required for locks of several databases, and for locks of
   * a quorum together with other locks.
   */
  databaseName?: string | undefined;
  /**
   * The options of the transaction. Default: write concern majority, read concern snapshot, read preference primary.
   */
  transaction?: DriverTransactionOptions | undefined;
}

const OPTIONS: KeysOf<FencedTransactionOptions> = {
  collectionName: true,
  databaseName: true,
  transaction: true,
};

/** The fence document of one lock. The lock document is another document. */
interface FenceDocument {
  /** The name of the lock. */
  readonly _id: string;
  /** The highest token under which a fenced transaction has written this document. */
  readonly token: number;
  /**
   * The number of committed fenced transactions. Each claim raises it, so that the claim changes the document even if
   * the token stays the same.
   */
  readonly claims: number;
  /** The server time of the last claim, for people and for a TTL index. The library does not read this field. */
  readonly claimedAt: Date;
}

/**
 * These defaults replace the client's options: a fence that a failover can undo protects nothing. The caller may
 * replace them by the option `transaction`.
 */
const TRANSACTION = {
  writeConcern: { w: 'majority' },
  readConcern: { level: 'snapshot' },
  readPreference: 'primary',
} as const;

const CLAIM = { $inc: { claims: 1 }, $currentDate: { claimedAt: true } } as const;

const BETWEEN_TRIES = new Backoff(10, 80);

/**
 * Runs `work` in a transaction that cannot commit after a fenced transaction of a newer holder of the lock has
 * committed.
 *
 * Guaranteed: the fenced transactions that commit under one lock, with the same fence collection, are serial. A
 * transaction with an older token never commits after one with a newer token. Before `work` is called, the transaction
 * writes one fence document per lock, in the order of the locks' names. So two transactions that are open under one
 * lock at the same time conflict, and at most one of them commits. The conflict also protects everything that `work`
 * reads through its session. Each write of a fence document changes it, because a write that changes nothing would not
 * conflict ({@link https://jira.mongodb.org/browse/SERVER-77616 | SERVER-77616}). The transaction does not touch the
 * lock documents, so leases are still extended while it is open.
 *
 * On success, the result is that of `work` in the committed try. As in the driver's `withTransaction`, `work` is called
 * again after a conflict with another transaction, or after another transient error. So `work` should change nothing
 * outside its session. If `work` aborts the transaction itself, nothing is written, and the call resolves with the
 * result of `work`.
 *
 * After a failure nothing was committed, with one exception: after an error of the driver with the label
 * `UnknownTransactionCommitResult`, no server has said how the commit ended. An error of `work` is thrown as it is. A
 * {@link StaleTokenError} means that `work` was not called, or that everything it did through its session was undone.
 *
 * The call may take long. While the transaction of an older holder is open, the transaction of a newer holder is
 * repeated, for as long as `withTransaction` does so (120 s). The server aborts a transaction that is older than 60 s
 * (by default) at its next check for such transactions, even if the older holder is suspended or has died.
 *
 * Not fenced: what `work` does without its session, and writes outside of fenced transactions. Each call uses the token
 * that the lock has when the call begins.
 *
 * @throws {@link StaleTokenError} with both tokens; {@link UnsupportedServerError} if the server has no transactions;
 *   what `work` throws; the driver's errors as they are.
 * @throws `TypeError` or `RangeError`, before anything is sent: for a `lock` that is not held exclusively, an empty
 *   list, one lock named twice, locks that require a `databaseName` that is not given, a `work` that is not a function,
 *   or a wrong option.
 * @throws `TypeError`, after the server has refused the claim: for a fence document whose `token` is not a number.
 */
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- for a call that names only T
export async function fencedTransaction<T, S extends DriverSession = any>(
  client: DriverTransactions<S>,
  lock: LockHandle | readonly LockHandle[],
  work: (session: S) => Promise<T>,
  options?: FencedTransactionOptions,
): Promise<T> {
  const { collectionName, databaseName, transaction } = knownOptions(options, 'fencedTransaction', OPTIONS);
  const collection = parseNonEmpty('collectionName', orElse(collectionName, 'distributed.fences'));
  if (typeof work !== 'function') throw wrongType('work', 'a function', work);
  const given = optional(databaseName, (name) => parseNonEmpty('databaseName', name));
  const fences = allFencedBy(lock);
  const database = given ?? databaseOf(fences);
  // The program may have another copy of the driver, with types of its own. Any copy that fits `DriverTransactions`
  // behaves alike.
  const driver = client as unknown as MongoClient;
  const documents = driver.db(database).collection<FenceDocument>(collection);
  let tries = 0;
  return await driver.withSession((session) =>
    session.withTransaction(
      async () => {
        // Older drivers repeat without a pause. This try has sent nothing yet, so the server has no open transaction
        // during the pause.
        if (tries > 0) await BETWEEN_TRIES.pause(surroundingsOf(client).clock, tries - 1);
        tries += 1;
        for (const fence of fences) await claim(documents, fence, session);
        return await work(session as unknown as S);
      },
      { ...TRANSACTION, ...(defined(object(transaction, 'transaction')) as TransactionOptions) },
    ),
  );
}

/**
 * The default database of the fence documents. All processes must use the same fence documents, and they already agree
 * on the database of the locks.
 */
function databaseOf(fences: readonly FencedBy[]): string | undefined {
  const names = [...new Set(fences.map(({ databaseName }) => databaseName))];
  if (names.length < 2) return names[0];
  throw new TypeError(
    `options.databaseName must be given, because the locks are in several databases: ${names.map((name) => name ?? 'a quorum').join(', ')}`,
  );
}

/**
 * Writes the token into one fence document. If two transactions write the same fence document at the same time, the
 * server lets at most one of them commit.
 */
async function claim(
  documents: Collection<FenceDocument>,
  fence: FencedBy,
  session: ClientSession,
): Promise<void> {
  const { lockName, token } = fence;
  const options = { session, upsert: true };
  const update = storing(CLAIM, 'token', token);
  try {
    await new GuardedUpdate(documents, { _id: lockName }, update, 'token', fence, options).run();
  } catch (error) {
    if (!isWithoutTransactions(error)) throw error;
    throw new UnsupportedServerError(lockName, 'A fenced transaction needs a replica set or a router', error);
  }
}

/**
 * Whether this is the error of a standalone server for the first command of a transaction. The driver may wrap the
 * server's error in an error of its own.
 */
function isWithoutTransactions(error: unknown): boolean {
  const { originalError = error } = error as { originalError?: unknown };
  return (
    originalError instanceof Error && originalError.message.startsWith('Transaction numbers are only allowed')
  );
}

function parseNonEmpty(option: string, name: unknown): string {
  if (typeof name !== 'string') throw wrongType(option, 'a string', name);
  if (name === '') throw outOfRange(option, 'not empty', name);
  return name;
}
