import type { GivenCommand } from '../commands/command.js';
import type { Answer } from '../replica-set/reply.js';
import { SimulatedChangeStream } from './change-stream.js';
import type { WatchOptions } from './change-stream.js';
import { throwIfWriteFailed } from './driver-errors.js';
import { otherValue, readConcernOf, refuseUnlessKnown } from './driver-options.js';
import type { ConcernOptions, Options } from './driver-options.js';
import { refusingOthers } from './refusing.js';
import type { Sender } from './sender.js';

interface UpdateResult {
  readonly acknowledged: boolean;
  readonly matchedCount: number;
  readonly modifiedCount: number;
  readonly upsertedCount: number;
  readonly upsertedId: unknown;
}

interface Cursor {
  toArray(): Promise<readonly object[]>;
}

/** What a collection needs of its database. */
interface Access {
  readonly sender: Sender;
  readonly command: (given: GivenCommand) => Promise<Answer>;
  /** Makes the `_id` of a document that is inserted without one. */
  readonly newId: () => unknown;
}

interface Inserted {
  readonly acknowledged: true;
  readonly insertedIds: Readonly<Record<number, unknown>>;
}

const NAMESPACE_NOT_FOUND = 26;

/** The part of the driver's `Collection` that the library, its fenced updates and tests use. */
export class SimulatedCollection {
  readonly dbName: string;
  readonly collectionName: string;
  readonly #access: Access;

  constructor(dbName: string, collectionName: string, access: Access) {
    this.dbName = dbName;
    this.collectionName = collectionName;
    this.#access = access;
  }

  get namespace(): string {
    return `${this.dbName}.${this.collectionName}`;
  }

  /**
   * In the driver, a collection has a write concern only if an option of the collection, the database or the client
   * sets one. The simulation has no options of the client, and those of the collection and the database may name the
   * default only.
   */
  get writeConcern(): undefined {
    return undefined;
  }

  async updateOne(filter: object, update: object, options: Options = {}): Promise<UpdateResult> {
    return await this.#update('updateOne', { q: filter, u: update, multi: false }, options);
  }

  async updateMany(filter: object, update: object, options: Options = {}): Promise<UpdateResult> {
    return await this.#update('updateMany', { q: filter, u: update, multi: true }, options);
  }

  async insertOne(document: object, options: Options = {}): Promise<object> {
    const { acknowledged, insertedIds } = await this.#insert('insertOne', [document], options);
    return { acknowledged, insertedId: insertedIds[0] };
  }

  async insertMany(documents: readonly object[], options: Options = {}): Promise<object> {
    const inserted = await this.#insert('insertMany', documents, options);
    return { ...inserted, insertedCount: documents.length };
  }

  async deleteOne(filter: object, options: Options = {}): Promise<{ readonly deletedCount: unknown }> {
    return await this.#delete('deleteOne', { q: filter, limit: 1 }, options);
  }

  async deleteMany(filter: object = {}, options: Options = {}): Promise<{ readonly deletedCount: unknown }> {
    return await this.#delete('deleteMany', { q: filter, limit: 0 }, options);
  }

  async findOne(filter: object = {}, options: Options = {}): Promise<object | null> {
    const [first] = await this.#find('findOne', filter, { ...options, limit: 1 });
    return first ?? null;
  }

  find(filter: object = {}, options: Options = {}): Cursor {
    return refusingOthers({ toArray: () => this.#find('find', filter, options) }, 'FindCursor');
  }

  async countDocuments(filter: object = {}, options: Options = {}): Promise<number> {
    return (await this.#find('countDocuments', filter, options)).length;
  }

  /** The simulation returns only the document after the update, so `returnDocument` must be `'after'`. */
  async findOneAndUpdate(filter: object, update: object, options: Options = {}): Promise<unknown> {
    refuseUnlessKnown('findOneAndUpdate', options, ['upsert', 'projection', 'returnDocument']);
    const { upsert, projection, returnDocument } = options;
    const answer = await this.#write({
      findAndModify: this.collectionName,
      ...{ query: filter, update, upsert, new: returnDocument === 'after' },
      ...(projection === undefined ? {} : { fields: projection }),
    });
    return answer['value'];
  }

  /** As with the driver, returns whether the collection existed. */
  async drop(options: Options = {}): Promise<boolean> {
    refuseUnlessKnown('drop', options, ['writeConcern']);
    try {
      await this.#write({ drop: this.collectionName, writeConcern: options['writeConcern'] });
      return true;
    } catch (error) {
      if ((error as { readonly code?: unknown }).code === NAMESPACE_NOT_FOUND) return false;
      throw error;
    }
  }

  watch(pipeline: readonly object[] = [], options: Options & WatchOptions = {}): SimulatedChangeStream {
    refuseUnlessKnown('watch', options, ['maxAwaitTimeMS', 'readConcern']);
    const level = readConcernOf((options as ConcernOptions).readConcern)?.level ?? 'majority';
    if (level !== 'majority') throw otherValue('watch', 'readConcern', level);
    const { sender } = this.#access;
    const stream = new SimulatedChangeStream(sender, this.dbName, this.collectionName, pipeline, options);
    return refusingOthers(stream, 'ChangeStream');
  }

  /** As the driver does, gives each document without an `_id` one, also in the object of the caller. */
  async #insert(method: string, documents: readonly object[], options: Options): Promise<Inserted> {
    refuseUnlessKnown(method, options, ['ordered', 'writeConcern']);
    const { ordered = true, writeConcern } = options;
    for (const document of documents as readonly { _id?: unknown }[]) document._id ??= this.#access.newId();
    const insertedIds = Object.fromEntries(documents.map((document, index) => [index, idOf(document)]));
    await this.#write({ insert: this.collectionName, documents, ordered, writeConcern });
    return { acknowledged: true, insertedIds };
  }

  async #update(method: string, statement: GivenCommand, options: Options): Promise<UpdateResult> {
    refuseUnlessKnown(method, options, ['upsert', 'collation', 'writeConcern']);
    const { upsert = false, collation, writeConcern } = options;
    const updates = [{ ...statement, upsert, ...(collation === undefined ? {} : { collation }) }];
    const answer = await this.#write({ update: this.collectionName, updates, writeConcern });
    const { upserted: [first] = [] } = answer as { readonly upserted?: readonly { readonly _id: unknown }[] };
    const upsertedCount = first === undefined ? 0 : 1;
    return {
      acknowledged: true,
      matchedCount: Number(answer['n']) - upsertedCount,
      modifiedCount: Number(answer['nModified']),
      upsertedCount,
      upsertedId: first?._id ?? null,
    };
  }

  async #delete(
    method: string,
    statement: GivenCommand,
    options: Options,
  ): Promise<{ readonly deletedCount: unknown }> {
    refuseUnlessKnown(method, options, ['writeConcern']);
    const { writeConcern } = options;
    const answer = await this.#write({ delete: this.collectionName, deletes: [statement], writeConcern });
    return { deletedCount: answer['n'] };
  }

  async #write(given: GivenCommand): Promise<Answer> {
    const answer = await this.#access.command(given);
    throwIfWriteFailed(answer);
    return answer;
  }

  async #find(method: string, filter: object, options: Options): Promise<readonly object[]> {
    refuseUnlessKnown(method, options, ['projection', 'sort', 'limit', 'readConcern', 'collation']);
    const { projection, sort, limit, collation } = options;
    const readConcern = readConcernOf((options as ConcernOptions).readConcern);
    const given = { find: this.collectionName, filter, projection, sort, limit, readConcern, collation };
    const { cursor } = (await this.#access.command(given)) as {
      readonly cursor: { readonly firstBatch: object[] };
    };
    return cursor.firstBatch;
  }
}

const idOf = (document: object): unknown => (document as { readonly _id?: unknown })._id;
