import { DateValue, Decimal, Double, OtherValue, isArray, isNumber } from '../server/values.js';
import type { DocumentValue, NumberValue, Value } from '../server/values.js';
import { canonicalText, exactDecimal } from '../server/values/decimal.js';

/** `database.collection` */
export type Namespace = string;

/**
 * The text of an `_id`, by which its document is found. Two ids have the same text exactly if `compareValues` calls
 * them equal. The server then treats them as the same id.
 */
export function keyOf(id: Value | undefined): string {
  if (typeof id === 'string') return textKey(id);
  if (isNumber(id)) return `n${numberKey(id)}`;
  if (id instanceof DateValue) return `d${String(id.ms)}`;
  if (id instanceof OtherValue) return otherKey(id);
  if (id === undefined || id === null || typeof id === 'boolean') return `c${String(id)}`;
  if (isArray(id)) return `[${id.map(keyOf).join()}]`;
  return `{${[...id].map(([name, value]) => `${JSON.stringify(name)}:${keyOf(value)}`).join()}}`;
}

const textKey = (text: string): string => `s${JSON.stringify(text)}`;

/** The text of an integer is its digits, whatever its type, as `canonicalText` writes it. */
function numberKey(value: NumberValue): string {
  if (typeof value === 'number' || typeof value === 'bigint') return String(value);
  if (value instanceof Double && Number.isSafeInteger(value.value)) return String(value.value);
  return canonicalText(value instanceof Decimal ? value : exactDecimal(value.value));
}

/** A symbol equals the string of the same text. */
function otherKey({ type, parts }: OtherValue): string {
  if (type === 'symbol') return textKey(String(parts[0]));
  return `${type}${parts.map((part) => JSON.stringify(String(part))).join()}`;
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
