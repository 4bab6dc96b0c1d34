import { keyOf } from '../replica-set/documents.js';
import type { Namespace } from '../replica-set/documents.js';
import { applyOperators, applyPipeline } from '../server/updates.js';
import { isArray, isDocument } from '../server/values.js';
import type { DocumentValue, Value } from '../server/values.js';
import { NotSimulatedError } from '../server/server-error.js';
import type { Server } from './command.js';
import { fieldsForUpsert } from './filters.js';
import { DuplicateKeyError } from './duplicate-key.js';
import { newObjectId } from './object-id.js';
import { isIdentical } from './identity.js';

/** The document after an update of it. */
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

/** Updates one stored document. Returns the document after it. An update without an effect writes nothing. */
export function change(
  server: Server,
  namespace: Namespace,
  before: DocumentValue,
  update: Value,
): DocumentValue {
  const after = updated(before, update, false, server.member.nowMs);
  if (!isIdentical(before, after)) put(server, namespace, before, after);
  return after;
}

/** Inserts the document that an upsert makes from its filter and its update. */
export function upsert(
  server: Server,
  namespace: Namespace,
  filter: DocumentValue,
  update: Value,
): DocumentValue {
  const made = updated(fieldsForUpsert(filter), update, true, server.member.nowMs);
  return insert(server, namespace, made);
}

/** @throws DuplicateKeyError if there is a document of this `_id`. */
export function insert(server: Server, namespace: Namespace, given: DocumentValue): DocumentValue {
  const id = given.get('_id') ?? newObjectId(server.member);
  const after = new Map<string, Value>([['_id', id], ...[...given].filter(([name]) => name !== '_id')]);
  if (server.member.latest.get(namespace, keyOf(id)) !== undefined)
    throw new DuplicateKeyError(namespace, id);
  put(server, namespace, undefined, after);
  return after;
}

/** Appends the change of one document to the oplog. */
export function put(
  { member }: Pick<Server, 'member'>,
  namespace: Namespace,
  before: DocumentValue | undefined,
  after: DocumentValue | undefined,
): void {
  const id = (after ?? before)?.get('_id') ?? null;
  member.append({ type: 'write', namespace, key: keyOf(id), id, before, after });
}
