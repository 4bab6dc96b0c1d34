import type { DocumentValue, Value } from '../server/values.js';
import type { Documents, Namespace } from './documents.js';

/** A change of one document. Without `before`, the document was inserted; without `after`, deleted. */
export interface Write {
  readonly type: 'write';
  readonly namespace: Namespace;
  readonly key: string;
  readonly id: Value;
  readonly before: DocumentValue | undefined;
  readonly after: DocumentValue | undefined;
}

export interface Drop {
  readonly type: 'drop';
  readonly namespace: Namespace;
  readonly before: readonly DocumentValue[];
}

/** A primary begins its term with an entry that changes nothing. */
interface NewTerm {
  readonly type: 'new-term';
}

export type Change = Write | Drop | NewTerm;

/** One entry of the oplog. Members that have the same entry share one object. */
export interface Entry {
  readonly term: number;
  /** When the entry was appended, by the primary's clock. */
  readonly wallMs: number;
  readonly change: Change;
}

export function apply({ change }: Entry, to: Documents): void {
  if (change.type === 'write') to.put(change.namespace, change.key, change.after);
  else if (change.type === 'drop') to.drop(change.namespace);
}

export function undo({ change }: Entry, from: Documents): void {
  if (change.type === 'write') from.put(change.namespace, change.key, change.before);
  else if (change.type === 'drop') from.restore(change.namespace, change.before);
}
