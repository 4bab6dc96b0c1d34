import { ServerError } from '../server/errors/server-error.js';
import { OtherValue, isArray, sizeOf } from '../server/values.js';
import type { DocumentValue, Value } from '../server/values.js';

/** The most bytes of a stored document. */
const MAX_BYTES = 16 * 1_024 * 1_024;

/** The most bytes of a document that a server makes while it works. */
const MAX_INTERNAL_BYTES = MAX_BYTES + 16 * 1_024;

export type Way = 'insert' | 'update' | 'upsert';

/** How a document that is too large was made: the code of the error, and its text. */
const WAYS: Readonly<Record<Way, readonly [code: number, text: string]>> = {
  insert: [2, `object to insert too large, max size: ${String(MAX_BYTES)}`],
  update: [17_419, `Resulting document after update is larger than ${String(MAX_BYTES)}`],
  upsert: [17_420, `Document to upsert is larger than ${String(MAX_BYTES)}`],
};

/** @throws ServerError for a document of more than 16 MB. */
export function refuseIfTooLarge(document: DocumentValue, way: Way): void {
  const bytes = sizeOf(document);
  if (bytes <= MAX_BYTES) return;
  if (bytes > MAX_INTERNAL_BYTES) {
    const bounds = `between 0 and ${String(MAX_INTERNAL_BYTES)}(16MB)`;
    throw new ServerError(10_334, `BSONObj size: ${String(bytes)} is invalid. Size must be ${bounds}`);
  }
  const [code, message] = WAYS[way];
  throw new ServerError(code, message);
}

/** @throws ServerError for an `_id` that is an array or a regular expression. */
export function refuseAsId(id: Value): void {
  const isRegex = id instanceof OtherValue && id.type === 'regex';
  if (!isArray(id) && !isRegex) return;
  const type = isRegex ? 'regex' : 'array';
  throw new ServerError(53, `The '_id' value cannot be of type ${type}`);
}
