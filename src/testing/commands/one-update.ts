import { keyOf } from '../replica-set/documents.js';
import type { Namespace } from '../replica-set/documents.js';
import { applyOperators, applyPipeline } from '../server/updates.js';
import { isArray, isDocument } from '../server/values.js';
import type { DocumentValue, Value } from '../server/values.js';
import { NotSimulatedError } from '../server/errors/server-error.js';
import type { Member } from '../replica-set/member.js';
import { documentForUpsert } from './filters.js';
import { DuplicateKeyError } from './duplicate-key.js';
import { newObjectId } from './object-id.js';
import { isIdentical } from './identity.js';
import { refuseAsId, refuseIfTooLarge } from './stored-limits.js';
import type { Way } from './stored-limits.js';

export function updated(
  document: DocumentValue,
  update: Value,
  isInsert: boolean,
  nowMs: number,
): DocumentValue {
  if (isArray(update)) return applyPipeline(document, update, nowMs);
  if (!isDocument(update)) throw new NotSimulatedError('an update that is neither a pipeline nor a document');
  const isReplacement = ![...update.keys()].some((name) => name.startsWith('$'));
  if (isReplacement) throw new NotSimulatedError('a replacement of a whole document');
  return applyOperators(document, update, isInsert, nowMs);
}

/** Updates one stored document and returns its new version. An update without an effect writes nothing. */
export function change(
  member: Member,
  namespace: Namespace,
  before: DocumentValue,
  update: Value,
): DocumentValue {
  const after = updated(before, update, false, member.nowMs);
  refuseIfTooLarge(after, 'update');
  if (!isIdentical(before, after)) put(member, namespace, before, after);
  return after;
}

export function upsert(
  member: Member,
  namespace: Namespace,
  filter: DocumentValue,
  update: Value,
): DocumentValue {
  const made = updated(documentForUpsert(filter), update, true, member.nowMs);
  return insert(member, namespace, made, 'upsert');
}

/** @throws ServerError if there is a document with this `_id`, or if the document or its `_id` cannot be stored. */
export function insert(
  member: Member,
  namespace: Namespace,
  given: DocumentValue,
  way: Way = 'insert',
): DocumentValue {
  const id = given.get('_id') ?? newObjectId(member);
  const after = new Map<string, Value>([['_id', id], ...[...given].filter(([name]) => name !== '_id')]);
  refuseAsId(id);
  refuseIfTooLarge(after, way);
  if (member.latest.get(namespace, keyOf(id)) !== undefined) throw new DuplicateKeyError(namespace, id);
  put(member, namespace, undefined, after);
  return after;
}

export function put(
  member: Member,
  namespace: Namespace,
  before: DocumentValue | undefined,
  after: DocumentValue | undefined,
): void {
  const id = (after ?? before)?.get('_id') ?? null;
  member.append({ type: 'write', namespace, key: keyOf(id), id, before, after });
}
