import { Long } from 'mongodb';
import type { Db } from 'mongodb';

import type { MemoryReplicaSet, StoredDocument } from '../../../src/testing/index.js';
import { DATABASE, LOCKS, QUORUM_DATABASE } from './names.js';

/** The lock documents of one database, as they were. */
interface Copy {
  readonly db: Db;
  readonly documents: readonly StoredDocument[];
  /** Whether the collection is empty now. */
  readonly isEmptied: Promise<boolean>;
}

/** Puts an old copy of the lock documents of a replica set in the place of the present ones. */
export class Restore {
  readonly #set: MemoryReplicaSet;
  readonly #messenger: () => Db;
  #copies: readonly Copy[] = [];

  constructor(set: MemoryReplicaSet, messenger: () => Db) {
    this.#set = set;
    this.#messenger = messenger;
  }

  /** Drops the collections, or deletes their documents. The copies are those of the time `atMs` of the set. */
  begin(atMs: number, drops: boolean): void {
    const { client } = this.#messenger();
    this.#copies = [DATABASE, QUORUM_DATABASE].map((name) => {
      const db = client.db(name);
      const command = drops
        ? db.command({ drop: LOCKS, writeConcern: MAJORITY })
        : db.command({ delete: LOCKS, deletes: [{ q: {}, limit: 0 }], writeConcern: MAJORITY });
      // While there is no primary, nothing can be deleted, and nothing is restored.
      const isEmptied = command.then(
        () => true,
        () => false,
      );
      return { db, documents: this.#documentsAt(atMs, `${name}.${LOCKS}`), isEmptied };
    });
  }

  /** A document that a process has made meanwhile stays. */
  end(): void {
    for (const { db, documents, isEmptied } of this.#copies) {
      if (documents.length > 0) void isEmptied.then((isSo) => (isSo ? insert(db, documents) : undefined));
    }
    this.#copies = [];
  }

  #documentsAt(ms: number, wanted: string): readonly StoredDocument[] {
    const newest = new Map<unknown, StoredDocument | null>();
    for (const { namespace, id, document, at } of this.#set.versions) {
      if (namespace === wanted && at.getTime() <= ms) newest.set(id, document);
    }
    return [...newest.values()].filter((document) => document !== null);
  }
}

const MAJORITY = { w: 'majority', j: true } as const;

async function insert(db: Db, documents: readonly StoredDocument[]): Promise<void> {
  const command = {
    insert: LOCKS,
    documents: documents.map((each) => typed(each)),
    ordered: false,
    writeConcern: MAJORITY,
  };
  await db.command(command).catch(() => undefined);
}

/** The fields whose numbers are long ones, also if they are small: the library calls a document corrupt otherwise. */
const LONG: readonly string[] = ['fence', 'token', 'firstToken', 'from', 'to'];

/** A copy keeps the types of numbers. Any other number that does not fit into 32 bits is a long one, too. */
function typed(value: unknown, name = ''): unknown {
  if (
    typeof value === 'number' &&
    Number.isInteger(value) &&
    (LONG.includes(name) || Math.abs(value) >= 2 ** 31)
  )
    return Long.fromNumber(value);
  if (Array.isArray(value)) return value.map((each) => typed(each));
  if (typeof value !== 'object' || value === null || Object.getPrototypeOf(value) !== Object.prototype)
    return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, typed(each, key)]));
}
