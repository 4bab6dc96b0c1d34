import type { OwnDatabase } from '../../support/test-provider.js';

/** Reads the lock documents of a database as they are stored, without the library. */
export class StoredDocuments<Stored> {
  readonly #database: OwnDatabase;

  constructor(database: OwnDatabase) {
    this.#database = database;
  }

  async read(name: string): Promise<Stored> {
    const document = await this.#database.plain.document(name);
    if (document === null) throw new Error(`no document ${name}`);
    return document as Stored;
  }

  /** The BSON types that this projection computes. */
  async typesOf(name: string, projection: object): Promise<unknown> {
    const documents = this.#database.plain.db.collection<{ _id: string }>('distributed.locks');
    const [types] = await documents
      .aggregate([{ $match: { _id: name } }, { $project: projection }])
      .toArray();
    return types;
  }
}
