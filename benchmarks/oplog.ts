import { BSON } from 'mongodb';
import type { Collection, Document, MongoClient, Timestamp } from 'mongodb';

/** One entry of the oplog, which every other member has to fetch, write and apply. */
export interface OplogEntry {
  readonly bytes: number;
  readonly entry: Document;
}

/** Reads the entries of one document since a moment of the oplog. */
export class Oplog {
  readonly #entries: Collection;

  constructor(client: MongoClient) {
    this.#entries = client.db('local').collection('oplog.rs');
  }

  /** The time of the last entry. */
  async now(): Promise<Timestamp> {
    const [last] = await this.#entries.find().sort({ $natural: -1 }).limit(1).toArray();
    return last?.['ts'] as Timestamp;
  }

  /** The entries of this document, oldest first. */
  async since(moment: Timestamp, namespace: string, id: string): Promise<readonly OplogEntry[]> {
    const ofDocument = { ts: { $gt: moment }, ns: namespace, $or: [{ 'o2._id': id }, { 'o._id': id }] };
    const found = await this.#entries.find(ofDocument).sort({ $natural: 1 }).toArray();
    return found.map((entry) => ({ bytes: BSON.calculateObjectSize(entry), entry }));
  }
}
