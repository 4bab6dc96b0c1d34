// Folder `judge`: every version of every document, and which invariants they break.

import type { Namespace } from '../replica-set/documents.js';
import type { Member } from '../replica-set/member.js';
import { toDriver } from '../server/values.js';
import type { DocumentValue, Value } from '../server/values.js';

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

/** A version as the members have it. Nothing outside can change it. */
interface Recorded {
  readonly namespace: string;
  readonly id: Value;
  readonly after: DocumentValue | undefined;
  readonly wallMs: number;
}

/**
 * Every version that a majority has had, of every document, in the order of the oplog. A write that is rolled back
 * leaves no version. A caller gets copies, so it changes nothing here.
 */
export class History {
  readonly #recorded: Recorded[] = [];
  readonly #current = new Map<Namespace, Map<string, DocumentValue>>();
  /** How many entries of the oplog are recorded. */
  #length = 0;
  /** The list that was told last, as long as it is complete. */
  #told: readonly StoredVersion[] = [];

  get versions(): readonly StoredVersion[] {
    const added = this.#recorded.slice(this.#told.length);
    if (added.length > 0) this.#told = Object.freeze([...this.#told, ...added.map(decoded)]);
    return this.#told;
  }

  /** Versions that nobody else has. */
  get ownVersions(): readonly StoredVersion[] {
    return this.#recorded.map(decoded);
  }

  get documents(): readonly StoredDocument[] {
    return [...this.#current.values()].flatMap((documents) =>
      [...documents.values()].map((document) => toDriver(document) as StoredDocument),
    );
  }

  /** Records the versions that a majority has got since the last call. */
  record(member: Member): void {
    for (; this.#length < member.committedLength; this.#length += 1) {
      const entry = member.entryAt(this.#length);
      if (entry === undefined) return;
      const { change, wallMs } = entry;
      if (change.type === 'write') {
        const { namespace, key, id, after } = change;
        this.#add({ namespace, id, after, wallMs }, key);
      } else if (change.type === 'drop') {
        const { namespace } = change;
        for (const [key, document] of this.#current.get(namespace) ?? []) {
          this.#add({ namespace, id: document.get('_id') ?? null, after: undefined, wallMs }, key);
        }
      }
    }
  }

  #add(version: Recorded, key: string): void {
    const { namespace, after } = version;
    this.#recorded.push(version);
    const documents = this.#current.get(namespace) ?? new Map<string, DocumentValue>();
    this.#current.set(namespace, documents);
    if (after === undefined) documents.delete(key);
    else documents.set(key, after);
  }
}

const decoded = ({ namespace, id, after, wallMs }: Recorded): StoredVersion =>
  Object.freeze({
    namespace,
    id: toDriver(id),
    document: after === undefined ? null : (toDriver(after) as StoredDocument),
    at: new Date(wallMs),
  });
