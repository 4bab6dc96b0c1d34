import { randomBytes } from 'node:crypto';
import { MongoClient } from 'mongodb';
import type { Collection, Db, Document } from 'mongodb';

import type { DocumentValue } from '../../../src/testing/server/values.js';
import { readBson } from './bson-reader.js';
import { textOf } from './value-text.js';

/** What an update, a query or a projection leads to: a document, or the code of an error. */
export type Outcome = { readonly document: DocumentValue } | { readonly code: number };

export const wordsOf = (outcome: Outcome): string =>
  'code' in outcome ? `error ${outcome.code}` : textOf(outcome.document);

interface Stored extends Document {
  readonly _id: string;
}

/** One update of one document. */
export interface Trial {
  /** `null`: there is no document yet, and the update creates it. */
  readonly document: Document | null;
  readonly update: Document | readonly Document[];
}

/** The name of a document. */
export const textOfName = (document: DocumentValue, field = '_id'): string => {
  const id = document.get(field);
  return typeof id === 'string' ? id : textOf(id);
};

/** The document that shows the server's clock of a command. */
const CLOCK = 'clock';

/** Runs many small updates on a real server, in one command, in a database of its own. */
export class RealServer implements AsyncDisposable {
  readonly #client: MongoClient;
  readonly #db: Db;

  constructor(uri: string) {
    this.#client = new MongoClient(uri, { w: 1, journal: false });
    this.#db = this.#client.db(`interpreter-${randomBytes(6).toString('hex')}`);
  }

  get #collection(): Collection<Stored> {
    return this.#db.collection<Stored>('trials');
  }

  /** Stores these documents in place of all others. */
  async store(documents: readonly Document[]): Promise<void> {
    await this.#collection.deleteMany({});
    if (documents.length > 0) await this.#collection.insertMany(documents as readonly Stored[]);
  }

  /**
   * Applies each update to the document of its name, all in one command. Returns how each of them ended, and the clock
   * that all of them saw.
   */
  async update(
    updates: readonly { readonly name: string; readonly update: Trial['update'] }[],
  ): Promise<{ readonly nowMs: number; readonly outcomes: readonly Outcome[] }> {
    const statements = updates.map(({ name, update }) => ({ q: { _id: name }, u: update, upsert: true }));
    const clock = { q: { _id: CLOCK }, u: [{ $set: { now: '$$NOW' } }], upsert: true };
    const reply = await this.#db.command({
      update: 'trials',
      updates: [...statements, clock],
      ordered: false,
      writeConcern: { w: 1, j: false },
    });
    const { writeErrors = [] } = reply as { writeErrors?: readonly { index: number; code: number }[] };
    const codes = new Map(writeErrors.map(({ index, code }) => [index, code]));
    const stored = await this.all();
    const now = stored.get(CLOCK)?.get('now');
    await this.#collection.deleteOne({ _id: CLOCK });
    return {
      nowMs: Number((now as { ms: bigint }).ms),
      outcomes: updates.map(({ name }, index) => {
        const [code, document] = [codes.get(index), stored.get(name)];
        if (code !== undefined) return { code };
        if (document === undefined) throw new Error(`there is no document ${name}`);
        return { document };
      }),
    };
  }

  /** The documents that a query selects, as a projection shows them, in the order of their names by default. */
  async list(
    filter: Document,
    projection: Document = {},
    sort: Record<string, 1> = { _id: 1 },
  ): Promise<readonly DocumentValue[]> {
    const options = { raw: true, projection, sort };
    const found = await this.#collection.find(filter, options).toArray();
    return (found as unknown as readonly Uint8Array[]).map((bytes) => readBson(bytes));
  }

  /** All documents by name, as a projection shows them. */
  async all(projection?: Document, name = '_id'): Promise<ReadonlyMap<string, DocumentValue>> {
    const documents = await this.list({}, projection);
    return new Map(documents.map((document) => [textOfName(document, name), document]));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#db.dropDatabase();
    await this.#client.close();
  }
}
