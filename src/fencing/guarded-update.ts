import type { Collection, Document, Filter, FindOptions, UpdateOptions, UpdateResult } from 'mongodb';
import { given } from './driver-options.js';
import type { FencedBy } from './fence.js';
import { StaleTokenError } from './stale-token-error.js';
import { notAbove } from './token-field.js';

/**
 * The most repeats of an upsert that collides with another upsert. The first repeat usually finds and updates the
 * document of the other upsert. More repeats are needed if that document is deleted meanwhile.
 */
const MAX_COLLISIONS = 10;

/**
 * Replaces the client's and the caller's options for decoding: the code and the key pattern of an error must be
 * readable.
 */
const DECODING = { promoteValues: true, promoteLongs: true, useBigInt64: false, raw: false } as const;

/** Replaces the collection's options: a read goes to the primary, and decodes numbers as JavaScript numbers. */
const READING = { ...DECODING, readPreference: 'primary' } as const satisfies FindOptions;

/**
 * The stored value that prevented the update: its BSON type, and in `token` the value itself if it is a number, else
 * `null`.
 */
interface Obstacle {
  readonly type: string;
  readonly token: number | null;
}

/** One update that is applied only if no newer token is stored. The caller has checked the arguments. */
export class GuardedUpdate<T extends Document> {
  readonly #collection: Collection<T>;
  readonly #filter: Filter<T>;
  readonly #update: Document | Document[];
  readonly #field: string;
  readonly #fence: FencedBy;
  readonly #options: UpdateOptions;

  constructor(
    collection: Collection<T>,
    filter: Filter<T>,
    update: Document | Document[],
    field: string,
    fence: FencedBy,
    options: UpdateOptions,
  ) {
    this.#collection = collection;
    this.#filter = filter;
    this.#update = update;
    this.#field = field;
    this.#fence = fence;
    this.#options = options;
  }

  async run(): Promise<UpdateResult<T>> {
    for (let collisions = 0; ; collisions += 1) {
      try {
        return await this.#try();
      } catch (error) {
        if (!isDuplicateId(error)) throw error;
        await this.#settleCollision(error);
        if (collisions === MAX_COLLISIONS) throw error;
      }
    }
  }

  async #try(): Promise<UpdateResult<T>> {
    const guarded = both(this.#filter, this.#notAbove);
    const result = await this.#collection.updateOne(guarded, this.#update, { ...this.#options, ...DECODING });
    if (!(result.matchedCount > 0 || result.upsertedCount > 0)) {
      await this.#throwIfRefused(this.#filter, this.#options.session);
    }
    return result;
  }

  /**
   * Called when the upsert collided with a document of the same `_id`. Returns if the next try can update that
   * document, or can insert one because that document was deleted. Throws otherwise. In a transaction this method
   * always throws. If only a repeat of the whole transaction can help, the label of the error asks the driver for it.
   */
  async #settleCollision(error: DuplicateId): Promise<void> {
    const byId = { _id: this.#filter._id } as Filter<T>;
    // Reads without the session: if the session is in a transaction, the server has aborted that transaction.
    await this.#throwIfRefused(byId, undefined);
    const matches = (await this.#read(this.#filter, undefined)) !== null;
    // If the document exists and does not match the other conditions of the filter, every further try would collide. So
    // the caller gets the server's duplicate-key error. If the document has been deleted, the next try can insert it.
    if (!matches && (await this.#read(byId, undefined)) !== null) throw error;
    if (this.#options.session?.inTransaction() !== true) return;
    error.addErrorLabel('TransientTransactionError');
    throw error;
  }

  async #throwIfRefused(filter: Filter<T>, session: UpdateOptions['session']): Promise<void> {
    const obstacle = await this.#read(both(filter, { $nor: [this.#notAbove] }), session);
    if (obstacle === null) return;
    const { lockName, token } = this.#fence;
    if (obstacle.token !== null && obstacle.token > token) {
      throw new StaleTokenError(lockName, token, obstacle.token);
    }
    throw new TypeError(
      `field must be one that holds numbers, but ${this.#field} ${inWords(obstacle)}; nothing was written`,
    );
  }

  async #read(filter: Filter<T>, session: UpdateOptions['session']): Promise<Obstacle | null> {
    const { collation, hint, let: variables, comment, maxTimeMS } = this.#options;
    const path = `$${this.#field}`;
    // A decimal above every double becomes infinite, and so still counts as a newer token.
    const toDouble = { $convert: { input: path, to: 'double', onError: Infinity } };
    return await this.#collection.findOne<Obstacle>(filter, {
      ...given({ collation, hint, let: variables, comment, maxTimeMS, session }),
      ...READING,
      // A transaction has its own read concern. Outside of a transaction, `local` shows the state that prevented the
      // update, even before a majority has that state.
      ...(session?.inTransaction() === true ? {} : { readConcern: { level: 'local' } }),
      projection: { _id: 0, type: { $type: path }, token: { $cond: [{ $isNumber: path }, toDouble, null] } },
    });
  }

  get #notAbove(): Document {
    return notAbove(this.#field, this.#fence.token);
  }
}

const both = <T extends Document>(filter: Filter<T>, condition: Document): Filter<T> =>
  ({ $and: [filter, condition] }) as unknown as Filter<T>;

function inWords({ type, token }: Obstacle): string {
  if (type === 'missing') return 'cannot be stored, because its parent is not an object';
  return `is ${token === null ? `of the type ${type}` : String(token)}`;
}

/**
 * The driver's duplicate-key error. `isDuplicateId` checks its code and key pattern and not its class, because the
 * program may have two copies of the driver.
 */
interface DuplicateId extends Error {
  addErrorLabel(label: string): void;
}

const isDuplicateId = (error: unknown): error is DuplicateId => {
  const { code, keyPattern } = error as { code?: unknown; keyPattern?: Document };
  return code === 11_000 && keyPattern !== undefined && Object.keys(keyPattern).join() === '_id';
};
