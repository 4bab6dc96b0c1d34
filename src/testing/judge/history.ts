// Folder `judge`: every version of every document, and which invariants they break.

import type { Namespace } from '../replica-set/documents.js';
import type { Member } from '../replica-set/member.js';
import { toDriver } from '../server/values.js';

/** A document as the driver reads it. */
export type StoredDocument = Readonly<Record<string, unknown>>;

/** One version of one document that a majority has. */
export interface StoredVersion {
  /** `database.collection` */
  readonly namespace: string;
  /** The `_id` of the document. */
  readonly id: unknown;
  /** The document; `null` if it was deleted. */
  readonly document: StoredDocument | null;
  /** When the version was written, by the clock of the primary. */
  readonly at: Date;
}

/**
 * Every version of every document that a majority has had, in order. A write that is rolled back leaves no version.
 */
export class History {
  readonly #versions: StoredVersion[] = [];
  readonly #current = new Map<Namespace, Map<string, StoredDocument>>();
  #recorded = 0;

  get versions(): readonly StoredVersion[] {
    return this.#versions;
  }

  get documents(): readonly StoredDocument[] {
    return [...this.#current.values()].flatMap((documents) => [...documents.values()]);
  }

  /** Records the versions that a majority has got since the last call. */
  record(member: Member): void {
    for (; this.#recorded < member.committedLength; this.#recorded += 1) {
      const entry = member.entryAt(this.#recorded);
      if (entry === undefined) return;
      const { change, wallMs } = entry;
      const at = new Date(wallMs);
      if (change.type === 'write') {
        const { namespace, key, id, after } = change;
        const document = after === undefined ? null : (toDriver(after) as StoredDocument);
        this.#add({ namespace, id: toDriver(id), document, at }, key);
      } else if (change.type === 'drop') {
        const { namespace } = change;
        for (const [key, { _id: id }] of this.#current.get(namespace) ?? []) {
          this.#add({ namespace, id, document: null, at }, key);
        }
      }
    }
  }

  #add(version: StoredVersion, key: string): void {
    const { namespace, document } = version;
    this.#versions.push(Object.freeze(version));
    const documents = this.#current.get(namespace) ?? new Map<string, StoredDocument>();
    this.#current.set(namespace, documents);
    if (document === null) documents.delete(key);
    else documents.set(key, document);
  }
}
