import { DateValue, Decimal, Double, OtherValue, isArray } from '../server/values.js';
import type { DocumentValue, Value } from '../server/values.js';

/** `database.collection` */
export type Namespace = string;

/**
 * The text of an `_id`, by which its document is found. Two ids that are strings, booleans, dates, object ids, or ints,
 * longs and doubles up to 2^53, have the same text exactly if the server treats them as the same id.
 */
export function keyOf(id: Value | undefined): string {
  if (typeof id === 'string') return `s${id}`;
  if (typeof id === 'number' || typeof id === 'bigint') return `n${String(id)}`;
  if (id instanceof Double) return `n${String(id.value)}`;
  if (id instanceof DateValue) return `d${String(id.ms)}`;
  if (id instanceof Decimal) return `m${String(id.coefficient)}e${String(id.exponent)}`;
  if (id instanceof OtherValue) return `${id.type}${id.parts.map(String).join()}`;
  if (id === undefined || id === null || typeof id === 'boolean') return `c${String(id)}`;
  if (isArray(id)) return `[${id.map(keyOf).join()}]`;
  return `{${[...id].map(([name, value]) => `${JSON.stringify(name)}:${keyOf(value)}`).join()}}`;
}

/** All documents of one member, in one state. A stored document is never changed in place. */
export class Documents {
  readonly #collections = new Map<Namespace, Map<string, DocumentValue>>();

  get(namespace: Namespace, key: string): DocumentValue | undefined {
    return this.#collections.get(namespace)?.get(key);
  }

  in(namespace: Namespace): Iterable<DocumentValue> {
    return this.#collections.get(namespace)?.values() ?? [];
  }

  has(namespace: Namespace): boolean {
    return this.#collections.has(namespace);
  }

  get namespaces(): readonly Namespace[] {
    return [...this.#collections.keys()];
  }

  /** `undefined` deletes the document. */
  put(namespace: Namespace, key: string, document: DocumentValue | undefined): void {
    const collection = this.#collections.get(namespace) ?? new Map<string, DocumentValue>();
    this.#collections.set(namespace, collection);
    if (document === undefined) collection.delete(key);
    else collection.set(key, document);
  }

  drop(namespace: Namespace): void {
    this.#collections.delete(namespace);
  }

  restore(namespace: Namespace, documents: readonly DocumentValue[]): void {
    for (const document of documents) this.put(namespace, keyOf(document.get('_id')), document);
  }
}
