import { keyOf } from '../replica-set/documents.js';
import type { Documents, Namespace } from '../replica-set/documents.js';
import { matches } from '../server/queries.js';
import { compareValues, isArray, isDocument } from '../server/values.js';
import type { DocumentValue, Value } from '../server/values.js';

/** The ids that a filter names: only documents with these ids can match. `undefined`: any document can match. */
function idsNamedBy(filter: DocumentValue): readonly Value[] | undefined {
  const id = filter.get('_id');
  if (id === undefined) return undefined;
  if (!isDocument(id)) return isRegex(id) ? undefined : [id];
  const list = id.get('$in');
  if (id.size !== 1 || !isArray(list) || list.some(isRegex)) return undefined;
  return list;
}

const isRegex = (value: Value): boolean =>
  typeof value === 'object' && value !== null && 'type' in value && value.type === 'regex';

/** The documents that match the filter. If the filter names no ids, they come in the order of their ids. */
export function* found(
  documents: Documents,
  namespace: Namespace,
  filter: DocumentValue,
  nowMs: number,
): Generator<DocumentValue> {
  const ids = idsNamedBy(filter);
  if (ids === undefined) {
    const all = [...documents.in(namespace)].sort((a, b) => compareValues(a.get('_id'), b.get('_id')));
    for (const document of all) if (matches(document, filter, nowMs)) yield document;
    return;
  }
  for (const key of new Set(ids.map(keyOf))) {
    const document = documents.get(namespace, key);
    if (document !== undefined && matches(document, filter, nowMs)) yield document;
  }
}

/** The fields that an upsert takes from its filter: those that the filter compares for equality. */
export function fieldsForUpsert(filter: DocumentValue): DocumentValue {
  const fields = new Map<string, Value>();
  const take = (condition: DocumentValue): void => {
    for (const [name, value] of condition) {
      if (name === '$and' && isArray(value)) value.filter(isDocument).forEach(take);
      else if (!name.startsWith('$')) takeField(fields, name, value);
    }
  };
  take(filter);
  return fields;
}

function takeField(fields: Map<string, Value>, name: string, value: Value): void {
  const isCondition = isDocument(value) && [...value.keys()].some((key) => key.startsWith('$'));
  const equal = isCondition ? value.get('$eq') : value;
  if (equal !== undefined && !isRegex(equal)) fields.set(name, equal);
}
