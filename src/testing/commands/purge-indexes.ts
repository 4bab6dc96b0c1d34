import type { Namespace } from '../replica-set/documents.js';
import type { Member } from '../replica-set/member.js';
import type { Drop } from '../replica-set/oplog.js';
import { DateValue } from '../server/values.js';
import { put } from './one-update.js';

/** A TTL index: it purges a document `afterSeconds` after the date in the document's field `field`. */
interface PurgeIndex {
  readonly field: string;
  readonly afterSeconds: number;
  /** The drops of the collection after the index was made. A member with such a drop in its oplog lacks the index. */
  readonly drops: Drop[];
}

/**
 * The TTL indexes. All members get an index at once. A member loses the index when its oplog has a drop of the
 * collection.
 */
export class PurgeIndexes {
  readonly #indexes = new Map<Namespace, Map<string, PurgeIndex>>();

  get isEmpty(): boolean {
    return this.#indexes.size === 0;
  }

  add(namespace: Namespace, index: Omit<PurgeIndex, 'drops'>): void {
    const indexes = this.#indexes.get(namespace) ?? new Map<string, PurgeIndex>();
    this.#indexes.set(namespace, indexes.set(index.field, { ...index, drops: [] }));
  }

  drop(drop: Drop): void {
    for (const index of this.#indexes.get(drop.namespace)?.values() ?? []) index.drops.push(drop);
  }

  purge(member: Member): void {
    const { latest, nowMs } = member;
    for (const [namespace, indexes] of this.#indexes) {
      for (const { field, afterSeconds, drops } of indexes.values()) {
        if (drops.some((drop) => member.has(drop))) continue;
        for (const document of [...latest.in(namespace)]) {
          const date = document.get(field);
          const isOver = date instanceof DateValue && Number(date.ms) + 1_000 * afterSeconds <= nowMs;
          if (isOver) put(member, namespace, document, undefined);
        }
      }
    }
  }
}
