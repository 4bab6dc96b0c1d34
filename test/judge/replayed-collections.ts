import { BSON, Double, Int32, Long } from 'mongodb';
import type { Document } from 'mongodb';

import { applyDiff } from './oplog-diff.js';
import type { Change, OplogEntry, OplogOperation } from './oplog-entry.js';

type Documents = ReadonlyMap<string, Document>;

const EMPTY: Documents = new Map();

/**
 * Applies the entries of an oplog to one collection, and reports each change. Follows the collections that are renamed
 * into it and from it as well, because a collection may be renamed back.
 */
export class ReplayedCollections {
  readonly #own: string;
  readonly #onChange: (change: Change) => void;
  readonly #collections: Map<string, Map<string, Document>>;
  /** The operations of transactions with several entries. They count only once the last entry is there. */
  readonly #unfinished = new Map<string, OplogOperation[]>();

  constructor(namespace: string, renames: readonly Document[], onChange: (change: Change) => void) {
    this.#own = namespace;
    this.#onChange = onChange;
    this.#collections = new Map(
      connectedTo(namespace, renames).map((one) => [one, new Map<string, Document>()]),
    );
  }

  /** The namespaces of all entries that can concern the collection. */
  get namespaces(): readonly string[] {
    const followed = [...this.#collections.keys()];
    return [...followed, ...new Set(followed.map((one) => `${databaseOf(one)}.$cmd`)), 'admin.$cmd'];
  }

  /** By name; their values are those of BSON. */
  get documents(): Documents {
    return this.#collections.get(this.#own) ?? EMPTY;
  }

  apply(entry: OplogEntry): void {
    this.#apply(entry, entry);
  }

  #apply(operation: OplogOperation, entry: OplogEntry): void {
    if (operation.op === 'c') this.#command(operation, entry);
    else if (this.#collections.has(operation.ns)) this.#write(operation, entry);
  }

  #write({ op, ns, o, o2 }: OplogOperation, entry: OplogEntry): void {
    switch (op) {
      case 'i':
        this.#put(ns, nameOf(o), o, entry);
        break;
      case 'u':
        this.#put(ns, nameOf(o2 ?? o), this.#updated(ns, o2 ?? o, o), entry);
        break;
      case 'd':
        this.#put(ns, nameOf(o), null, entry);
        break;
      default:
        throw new Error(`unknown operation in the oplog: ${op}`);
    }
  }

  #updated(ns: string, id: Document, o: Document): Document {
    if (!('$v' in o)) return o;
    const before = this.#collections.get(ns)?.get(nameOf(id));
    if (before === undefined) throw new Error(`a document is changed before it was there: ${nameOf(id)}`);
    if (Number(o['$v']) !== 2) throw new Error('a difference of another version');
    return applyDiff(before, o['diff'] as Document);
  }

  #command({ ns, o }: OplogOperation, entry: OplogEntry): void {
    const database = databaseOf(ns);
    if (Array.isArray(o['applyOps'])) this.#together(o, entry);
    else if ('abortTransaction' in o) this.#unfinished.delete(transactionOf(entry));
    else if ('drop' in o) this.#become(`${database}.${String(o['drop'])}`, EMPTY, entry);
    else if ('renameCollection' in o) this.#rename(String(o['renameCollection']), String(o['to']), entry);
    else if ('dropDatabase' in o) {
      const dropped = [...this.#collections.keys()].filter((one) => databaseOf(one) === database);
      for (const one of dropped) this.#become(one, EMPTY, entry);
    }
  }

  /** A transaction, a batch of deletes or of inserts. */
  #together(o: Document, entry: OplogEntry): void {
    if (o['prepare'] === true) throw new Error('prepared transactions are of sharded clusters only');
    const transaction = transactionOf(entry);
    const operations = [...(this.#unfinished.get(transaction) ?? []), ...(o['applyOps'] as OplogOperation[])];
    this.#unfinished.delete(transaction);
    if (o['partialTxn'] === true) this.#unfinished.set(transaction, operations);
    else for (const operation of operations) this.#apply(operation, entry);
  }

  /** A target that was there is dropped by the same entry. */
  #rename(from: string, to: string, entry: OplogEntry): void {
    const moved = this.#collections.get(from) ?? EMPTY;
    this.#become(to, moved, entry);
    this.#become(from, EMPTY, entry);
  }

  #become(ns: string, documents: Documents, entry: OplogEntry): void {
    const before = this.#collections.get(ns);
    if (before === undefined) return;
    const gone = [...before.keys()].filter((name) => !documents.has(name));
    for (const name of gone) this.#put(ns, name, null, entry);
    for (const [name, document] of documents) this.#put(ns, name, document, entry);
  }

  #put(ns: string, name: string, after: Document | null, { ts, t, wall }: OplogEntry): void {
    const documents = this.#collections.get(ns);
    const before = documents?.get(name) ?? null;
    if (after === null) documents?.delete(name);
    else documents?.set(name, after);
    if (ns !== this.#own || before === after) return;
    const term = Number(t);
    this.#onChange({
      ...{ name, term, ts },
      wallMs: wall.getTime(),
      before: plain(before),
      after: plain(after),
    });
  }
}

/** The collections that are renamed into this one, or from it, in any number of steps. */
function connectedTo(namespace: string, renames: readonly Document[]): readonly string[] {
  const connected = new Set([namespace]);
  let size = 0;
  while (size < connected.size) {
    size = connected.size;
    for (const { renameCollection, to } of renames) {
      const both = [String(renameCollection), String(to)];
      if (both.some((one) => connected.has(one))) for (const one of both) connected.add(one);
    }
  }
  return [...connected];
}

const databaseOf = (namespace: string): string => namespace.slice(0, namespace.indexOf('.'));

/** The name of a lock is a string. Documents with other ids are no locks. */
export const nameOf = ({ _id: id }: { readonly _id?: unknown }): string =>
  typeof id === 'string' ? id : BSON.EJSON.stringify({ id });

const transactionOf = ({ lsid, txnNumber }: OplogEntry): string => BSON.EJSON.stringify({ lsid, txnNumber });

const known = new WeakMap<object, unknown>();

/** With numbers as the library sees them. Parts that versions share are converted once. */
function plain<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value;
  let converted = known.get(value);
  if (converted === undefined) {
    converted = convert(value);
    known.set(value, converted);
  }
  return converted as T;
}

function convert(value: object): unknown {
  if (value instanceof Long) return value.toNumber();
  if (value instanceof Int32 || value instanceof Double) return value.value;
  if (Array.isArray(value)) return value.map(plain);
  if (value instanceof Date || '_bsontype' in value) return value;
  return Object.fromEntries(Object.entries(value).map(([field, inside]) => [field, plain(inside)]));
}
