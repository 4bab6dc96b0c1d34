import type { Drop, Entry, Write } from '../replica-set/oplog.js';
import type { Namespace } from '../replica-set/documents.js';
import { DateValue, presentFields, sizeOf } from '../server/values.js';
import type { DocumentValue, Value } from '../server/values.js';
import { isIdentical } from './identity.js';

/** The event of each entry. It is made once, for all cursors over the collection. */
const events = new WeakMap<Entry, DocumentValue>();

/** The change event of one entry of the oplog; `undefined`: a stream over this collection does not show the entry. */
export function eventOf(entry: Entry, index: number, namespace: Namespace): DocumentValue | undefined {
  const { change } = entry;
  if (change.type === 'new-term' || change.namespace !== namespace) return undefined;
  const event = events.get(entry) ?? newEvent(change, entry.wallMs, index);
  events.set(entry, event);
  return event;
}

function newEvent(change: Write | Drop, wallMs: number, index: number): DocumentValue {
  const [database = '', ...collection] = change.namespace.split('.');
  const ns = new Map([
    ['db', database],
    ['coll', collection.join('.')],
  ]);
  const what = change.type === 'drop' ? new Map([['operationType', 'drop']]) : fieldsOf(change);
  return new Map<string, Value>([
    ['_id', tokenOf(index)],
    ...what,
    ['wallTime', new DateValue(BigInt(wallMs))],
    ['ns', ns],
  ]);
}

/** The last event of a stream, after the drop of the collection. */
export const invalidation = (index: number): DocumentValue =>
  new Map<string, Value>([
    ['_id', tokenOf(index)],
    ['operationType', 'invalidate'],
  ]);

/** The resume token of an entry. */
export const tokenOf = (index: number): DocumentValue =>
  new Map([['_data', index.toString(16).padStart(16, '0')]]);

function fieldsOf({ id, before, after }: Write): ReadonlyMap<string, Value> {
  const documentKey: Value = new Map([['_id', id]]);
  const event = (operationType: string, details: readonly (readonly [string, Value])[]): Map<string, Value> =>
    new Map<string, Value>([['operationType', operationType], ['documentKey', documentKey], ...details]);
  if (after === undefined) return event('delete', []);
  if (before === undefined) return event('insert', [['fullDocument', after]]);
  const difference = differenceOf(before, after);
  // The server logs the whole document if the difference is not smaller (E13).
  if (sizeOf(difference) >= sizeOf(after)) return event('replace', [['fullDocument', after]]);
  return event('update', [['updateDescription', difference]]);
}

/** The fields that differ: the whole new values of those in `after`, and the names of the removed ones. */
function differenceOf(before: DocumentValue, after: DocumentValue): DocumentValue {
  const updated = [...presentFields(after)].filter(([name, value]) => !isIdentical(before.get(name), value));
  const removed = [...presentFields(before)].map(([name]) => name).filter((name) => !after.has(name));
  return new Map<string, Value>([
    ['updatedFields', new Map(updated)],
    ['removedFields', removed],
    ['truncatedArrays', []],
  ]);
}
