import type { Namespace } from '../replica-set/documents.js';
import type { Member } from '../replica-set/member.js';
import type { Drop } from '../replica-set/oplog.js';
import { DateValue } from '../server/values.js';
import { put } from './one-update.js';

/** An index that purges a document when the date in its field is this number of seconds ago. */
interface PurgeIndex {
  readonly field: string;
  readonly afterSeconds: number;
  /** The drops of its collection. A member that has none of them, or has rolled them back, has the index. */
  readonly drops: Drop[];
}

/** The indexes that purge documents. All members have the same indexes. */
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
