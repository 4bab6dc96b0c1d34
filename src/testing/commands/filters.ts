import { keyOf } from '../replica-set/documents.js';
import type { Documents, Namespace } from '../replica-set/documents.js';
import { matches } from '../server/queries.js';
import { ServerError } from '../server/errors/server-error.js';
import { compareStrings, compareValues, isArray, isDocument, startsWithOperator } from '../server/values.js';
import type { DocumentValue, Value } from '../server/values.js';

/** The ids that a filter names: only documents with these ids can match. `undefined`: all documents must be tested. */
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

/** The documents that match the filter. If the filter names no ids, the documents come in the order of their ids. */
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

/**
 * The document that an upsert makes of its filter: the fields that the filter compares for equality, in the order of
 * their paths.
 *
 * @throws ServerError if the filter compares a field twice, or a field and another one within it.
 */
export function documentForUpsert(filter: DocumentValue): DocumentValue {
  const equalities = [...equalitiesIn(filter)].sort(([a], [b]) => compareStrings(a, b));
  let document: DocumentValue = new Map();
  for (const [index, [path, value]] of equalities.entries()) {
    for (const [earlier] of equalities.slice(0, index)) refuseTwice(earlier, path);
    document = withField(document, path.split('.'), value);
  }
  return document;
}

/** The paths that the filter compares for equality, with the values to which they must be equal. */
function* equalitiesIn(filter: DocumentValue): Generator<readonly [path: string, value: Value]> {
  for (const [name, value] of filter) {
    const clauses = isArray(value) ? value.filter(isDocument) : [];
    if (name === '$and' || (name === '$or' && clauses.length === 1)) {
      for (const clause of clauses) yield* equalitiesIn(clause);
    } else if (!name.startsWith('$')) {
      for (const equal of equalsIn(value)) yield [name, equal];
    }
  }
}

/** The values to which the condition requires its field to be equal. */
function equalsIn(condition: Value): readonly Value[] {
  if (!isDocument(condition) || !startsWithOperator(condition)) {
    return isRegex(condition) ? [] : [condition];
  }
  const [equal, list] = [condition.get('$eq'), condition.get('$in')];
  const only = isArray(list) && list.length === 1 ? list.filter((each) => !isRegex(each)) : [];
  return equal === undefined ? only : [equal, ...only];
}

function refuseTwice(path: string, later: string): void {
  if (path === later)
    throw new ServerError(54, `cannot infer query fields to set, path '${path}' is matched twice`);
  if (!later.startsWith(`${path}.`)) return;
  throw new ServerError(
    54,
    `cannot infer query fields to set, both paths '${later}' and '${path}' are matched`,
  );
}

function withField(
  document: DocumentValue,
  [name = '', ...rest]: readonly string[],
  value: Value,
): DocumentValue {
  const inner = document.get(name);
  const field = rest.length === 0 ? value : withField(isDocument(inner) ? inner : new Map(), rest, value);
  return new Map([...document, [name, field]]);
}
