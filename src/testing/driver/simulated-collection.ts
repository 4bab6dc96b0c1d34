import type { GivenCommand } from '../commands/command.js';
import { refuseOtherOptions } from '../commands/options.js';
import type { Answer } from '../replica-set/reply.js';
import { SimulatedChangeStream } from './change-stream.js';
import type { WatchOptions } from './change-stream.js';
import { throwIfWriteFailed } from './driver-errors.js';
import type { Sender } from './sender.js';

/** The options by which the driver decodes answers. */
const DECODING = ['promoteValues', 'promoteLongs', 'promoteBuffers', 'useBigInt64', 'raw', 'bsonRegExp'];
const EVERYWHERE = [...DECODING, 'session', 'readPreference', 'ignoreUndefined', 'checkKeys'];

interface UpdateResult {
  readonly acknowledged: boolean;
  readonly matchedCount: number;
  readonly modifiedCount: number;
  readonly upsertedCount: number;
  readonly upsertedId: unknown;
}

type Options = Readonly<Record<string, unknown>>;

interface Cursor {
  toArray(): Promise<readonly object[]>;
}

/** The part of the driver's `Collection` that the library, its fenced updates and their tests use. */
export class SimulatedCollection {
  readonly dbName: string;
  readonly collectionName: string;
  readonly #sender: Sender;
  readonly #command: (given: GivenCommand) => Promise<Answer>;

  constructor(
    dbName: string,
    collectionName: string,
    sender: Sender,
    command: (given: GivenCommand) => Promise<Answer>,
  ) {
    this.dbName = dbName;
    this.collectionName = collectionName;
    this.#sender = sender;
    this.#command = command;
  }

  get namespace(): string {
    return `${this.dbName}.${this.collectionName}`;
  }

  /**
   * In the driver, a collection has a write concern only if an option of the collection, the database or the client
   * sets one. The simulation has no such option.
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

  async insertOne(document: object, options: Options = {}): Promise<{ readonly acknowledged: boolean }> {
    return await this.insertMany([document], options);
  }

  async insertMany(
    documents: readonly object[],
    options: Options = {},
  ): Promise<{ readonly acknowledged: boolean }> {
    refuseOtherOptions('insert', options, [...EVERYWHERE, 'ordered', 'writeConcern']);
    const { ordered = true, writeConcern } = options;
    await this.#write({ insert: this.collectionName, documents, ordered, writeConcern });
    return { acknowledged: true };
  }

  async deleteOne(filter: object): Promise<{ readonly deletedCount: unknown }> {
    return await this.#delete(filter, 1);
  }

  async deleteMany(filter: object = {}): Promise<{ readonly deletedCount: unknown }> {
    return await this.#delete(filter, 0);
  }

  async findOne(filter: object = {}, options: Options = {}): Promise<object | null> {
    const [first] = await this.#find(filter, { ...options, limit: 1 });
    return first ?? null;
  }

  find(filter: object = {}, options: Options = {}): Cursor {
    return { toArray: () => this.#find(filter, options) };
  }

  async countDocuments(filter: object = {}): Promise<number> {
    return (await this.#find(filter, {})).length;
  }

  /** The simulation returns only the document after the update, so `returnDocument` must be `'after'`. */
  async findOneAndUpdate(filter: object, update: object, options: Options = {}): Promise<unknown> {
    refuseOtherOptions('findOneAndUpdate', options, [
      ...EVERYWHERE,
      'upsert',
      'projection',
      'returnDocument',
    ]);
    const { upsert, projection, returnDocument } = options;
    const answer = await this.#write({
      findAndModify: this.collectionName,
      ...{ query: filter, update, upsert, new: returnDocument === 'after' },
      ...(projection === undefined ? {} : { fields: projection }),
    });
    return answer['value'];
  }

  async drop(): Promise<boolean> {
    await this.#write({ drop: this.collectionName });
    return true;
  }

  watch(pipeline: readonly object[] = [], options: WatchOptions = {}): SimulatedChangeStream {
    return new SimulatedChangeStream(this.#sender, this.dbName, this.collectionName, pipeline, options);
  }

  async #update(method: string, statement: GivenCommand, options: Options): Promise<UpdateResult> {
    refuseOtherOptions(method, options, [...EVERYWHERE, 'upsert', 'collation', 'writeConcern']);
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

  async #delete(q: object, limit: number): Promise<{ readonly deletedCount: unknown }> {
    const answer = await this.#write({ delete: this.collectionName, deletes: [{ q, limit }] });
    return { deletedCount: answer['n'] };
  }

  async #write(given: GivenCommand): Promise<Answer> {
    const answer = await this.#command(given);
    throwIfWriteFailed(answer);
    return answer;
  }

  async #find(filter: object, options: Options): Promise<readonly object[]> {
    const known = [...EVERYWHERE, 'projection', 'sort', 'limit', 'readConcern', 'collation'];
    refuseOtherOptions('find', options, known);
    const { projection, sort, limit, readConcern, collation } = options;
    const given = { find: this.collectionName, filter, projection, sort, limit, readConcern, collation };
    const { cursor } = (await this.#command(given)) as { readonly cursor: { readonly firstBatch: object[] } };
    return cursor.firstBatch;
  }
}
