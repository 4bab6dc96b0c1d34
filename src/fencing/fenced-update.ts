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

/** The option `field` of `fencedUpdateOne`, and the options of the driver's `updateOne`, which are passed on. */
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
 * It guarantees that the update is applied only if the stored token is missing or not above the token of `lock`. With
 * the update, the token of `lock` is stored in the document. Comparison and change are one atomic update. So a write of
 * an older holder never follows a write of a newer one, even if this process pauses or a message arrives late. The
 * token alone decides: a hold that was lost or released may try, too.
 *
 * On success the result is that of the driver's `updateOne`. `matchedCount` 0: `filter` selects no document. With
 * `upsert`, which needs `_id` in the filter, a missing document is inserted with the token, and only once, however many
 * holders try.
 *
 * After a failure nothing was written, with one exception: an error of the driver may leave open whether the update was
 * applied, as for any update.
 *
 * What was read before the update is not protected. So begin a read-modify-write with a fenced write (outside of
 * transactions `{ $set: {} }` is enough), and read after that. Writes that compare no token are not held back either.
 * The update is as durable as its write concern: below majority, a failover may undo the update together with its
 * token.
 *
 * @throws {@link StaleTokenError} with both tokens, if a newer one is stored.
 * @throws `TypeError` or `RangeError`, before anything is sent: for a `lock` that is not held exclusively, because the
 *   tokens of several readers or permits are live at a time; for a replacement document; for an `update` that writes
 *   the token itself; for `upsert` without `_id`; for an unacknowledged write concern. After the server has refused the
 *   update: for a `field` that holds something other than a number, which cannot be compared.
 */
export function fencedUpdateOne<C extends DriverUpdated>(
  collection: C,
  filter: Parameters<C['updateOne']>[0],
  update: Parameters<C['updateOne']>[1],
  lock: LockHandle,
  options?: FencedUpdateOptions,
): Promise<Awaited<ReturnType<C['updateOne']>>>;
/**
 * The same with the type of the documents given: `fencedUpdateOne<Account>(…)`. It checks the types of filter and update
 * less than the call without a type argument, which takes them from the collection.
 */
export function fencedUpdateOne<T extends object = never>(
  collection: OnlyIfGiven<T, DriverUpdated>,
  filter: object,
  update: object,
  lock: LockHandle,
  options?: FencedUpdateOptions,
): Promise<DriverUpdateResult>;
// Each signature above has its own types of the driver, of which this one knows nothing.
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
  // The types of the driver are those of one copy; any copy that fits `DriverUpdated` behaves alike.
  const target = collection as unknown as Collection;
  return (await new GuardedUpdate(target, filter, stored, field, fence, driverOptions).run()) as never;
}

/** Without the type argument `T`, nothing fits this type. So the first signature is the one that counts. */
type OnlyIfGiven<T, Wanted> = [T] extends [never] ? never : Wanted;

/**
 * Refuses a filter without one value for `_id`, and a collation that does not compare `_id` byte by byte. With either,
 * an upsert that is refused because of a newer token could insert a second document, and so bypass the fence.
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
 * Whether the filter has one value for `_id`: no operator, no pattern, and nothing that the driver turns into an
 * operator or a pattern when it sends the filter.
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
