import { types } from 'node:util';
import type { Collection, Document, UpdateOptions } from 'mongodb';
import type { DriverUpdateOptions, DriverUpdateResult, DriverUpdated } from '../driver-types.js';
import type { LockHandle } from '../lease/holding/lock-handle.js';
import { object, wrongType } from '../options/checks.js';
import { refuseMisspeltKeys } from '../options/unknown-keys.js';
import type { KeysOf } from '../options/unknown-keys.js';
import { given } from './driver-options.js';
import { fencedBy } from './fence.js';
import { GuardedUpdate } from './guarded-update.js';
import { parseField, storing } from './token-field.js';

/** Options of a fenced update: the options of the driver's `updateOne`, and the field that stores the token. */
export interface FencedUpdateOptions extends DriverUpdateOptions {
  /** The path of the field that stores the token of the last fenced write. Default: `fencingToken`. */
  field?: string | undefined;
}

/** The known keys: `field`, and the options of the driver's `updateOne`, which receives them. */
const OPTIONS: KeysOf<FencedUpdateOptions> = {
  field: true,
  arrayFilters: true,
  authdb: true,
  bsonRegExp: true,
  bypassDocumentValidation: true,
  checkKeys: true,
  collation: true,
  comment: true,
  dbName: true,
  enableUtf8Validation: true,
  explain: true,
  fieldsAsRaw: true,
  hint: true,
  ignoreUndefined: true,
  let: true,
  maxTimeMS: true,
  promoteBuffers: true,
  promoteLongs: true,
  promoteValues: true,
  raw: true,
  readConcern: true,
  readPreference: true,
  serializeFunctions: true,
  session: true,
  timeoutMS: true,
  upsert: true,
  useBigInt64: true,
  willRetryWrite: true,
  writeConcern: true,
};

/**
 * Updates one document of your own, unless a newer holder of the lock has written it.
 *
 * Guaranteed: the update is applied only if the stored token is missing or not above the token of `lock`. The same
 * atomic update compares the tokens, changes the document and stores the token of `lock`. So a write of an older holder
 * never follows a write of a newer one, even if this process pauses or a message arrives late. The token alone decides:
 * a hold that was lost or released may try, too.
 *
 * On success, the result is that of the driver's `updateOne`. A `matchedCount` of 0 means that `filter` selected no
 * document. `upsert` needs one value of `_id` in the filter. It inserts a missing document together with the token, and
 * only once, however many holders try.
 *
 * After a failure nothing was written, with one exception: an error of the driver may leave open whether the update was
 * applied, as for any update.
 *
 * Not protected: what was read before the update. So begin a read-modify-write with a fenced write, and read after
 * that. Outside of a transaction, `{ $set: {} }` is enough for the first write. Not held back: writes that compare no
 * token. The update is as durable as its write concern: below majority, a failover may undo the update together with
 * its token.
 *
 * @throws {@link StaleTokenError} with both tokens, if a newer one is stored.
 * @throws `TypeError` or `RangeError`, before anything is sent: for a `lock` that is not held exclusively, because
 *   several readers or permits have live tokens at the same time; for a replacement document; for an `update` that
 *   writes the token itself; for `upsert` without one value of `_id`, or with a collation other than `simple`; for an
 *   unacknowledged write concern; for a wrong `filter`, `update`, `field` or option.
 * @throws `TypeError`, after the server has refused the update: for a `field` that holds something other than a number,
 *   which cannot be compared, or whose parent is not an object.
 */
export function fencedUpdateOne<C extends DriverUpdated>(
  collection: C,
  filter: Parameters<C['updateOne']>[0],
  update: Parameters<C['updateOne']>[1],
  lock: LockHandle,
  options?: FencedUpdateOptions,
): Promise<Awaited<ReturnType<C['updateOne']>>>;
/**
 * The same call with an explicit type of the documents: `fencedUpdateOne<Account>(…)`. TypeScript checks the filter and
 * the update less strictly than in a call without a type argument, where their types come from the collection.
 */
export function fencedUpdateOne<T extends object = never>(
  collection: OnlyIfGiven<T, DriverUpdated>,
  filter: object,
  update: object,
  lock: LockHandle,
  options?: FencedUpdateOptions,
): Promise<DriverUpdateResult>;
// The parameters are `any`, because each copy of the driver has its own types. The signatures above check the types.
// eslint-disable-next-line @typescript-eslint/no-explicit-any
export async function fencedUpdateOne(...args: any[]): Promise<never> {
  const [collection, filter, update, lock, options] = args as [
    DriverUpdated,
    Document | null,
    Document | Document[],
    LockHandle,
    FencedUpdateOptions | undefined,
  ];
  const { field: path, ...others } = object(options);
  const driverOptions = given(others) as UpdateOptions;
  refuseMisspeltKeys(object(options), 'fencedUpdateOne', OPTIONS);
  const field = parseField(path);
  const fence = fencedBy(lock);
  if (typeof filter !== 'object' || filter === null) {
    throw wrongType('filter', 'an object', filter);
  }
  const stored = storing(update, field, fence.token);
  if (driverOptions.upsert === true) refuseSecondDocument(filter, driverOptions);
  const isTransaction = driverOptions.session?.inTransaction() === true;
  if (!isTransaction && (driverOptions.writeConcern ?? collection.writeConcern)?.w === 0) {
    throw wrongType('writeConcern', 'an acknowledged one, because a refusal must reach the caller', { w: 0 });
  }
  // The program may have another copy of the driver, with types of its own. Any copy that fits `DriverUpdated` behaves
  // alike.
  const target = collection as unknown as Collection;
  return (await new GuardedUpdate(target, filter, stored, field, fence, driverOptions).run()) as never;
}

/**
 * If a call does not give the type argument `T`, this type is `never`. So no such call fits the second signature of
 * `fencedUpdateOne`, and TypeScript checks it by the first one.
 */
type OnlyIfGiven<T, Wanted> = [T] extends [never] ? never : Wanted;

/**
 * If a newer token is stored, the filter of an upsert finds no document, and the server tries to insert a second one.
 * Only the unique `_id` prevents this insert. So the filter must have one value for `_id`, and the collation must
 * compare `_id` byte by byte.
 */
function refuseSecondDocument(filter: Document, { collation }: UpdateOptions): void {
  if (!selectsOneId(filter)) {
    throw wrongType('filter', 'one with a value for _id where upsert is true', filter);
  }
  if (collation !== undefined && collation.locale !== 'simple') {
    throw wrongType(
      'collation',
      'the simple one where upsert is true, because _id is compared byte by byte',
      {
        collation,
      },
    );
  }
}

/**
 * Whether the filter names one value of `_id`, neither an operator nor a pattern. Returns false for an object with
 * `toBSON`, because the driver sends what `toBSON` returns.
 */
function selectsOneId(filter: Document): boolean {
  if (typeof filter['toBSON'] === 'function') return false;
  const id: unknown = filter['_id'];
  if (id === undefined || types.isRegExp(id)) return false;
  if (typeof id !== 'object' || id === null) return true;
  if ('toBSON' in id) return false;
  if ('_bsontype' in id) return id._bsontype !== 'BSONRegExp';
  // The driver sends a Map as an object of its entries.
  const keys: readonly unknown[] = id instanceof Map ? [...id.keys()] : Object.keys(id);
  return !keys.some((key) => typeof key !== 'string' || key.startsWith('$'));
}
