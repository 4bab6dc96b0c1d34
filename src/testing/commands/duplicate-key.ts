import { ServerError } from '../server/errors/server-error.js';
import { toDriver } from '../server/values.js';
import type { Value } from '../server/values.js';

/** A document with this `_id` is stored already. */
export class DuplicateKeyError extends ServerError {
  readonly details: { readonly keyPattern: object; readonly keyValue: object };

  constructor(namespace: string, id: Value) {
    const keyValue = { _id: toDriver(id) };
    super(
      11_000,
      `E11000 duplicate key error collection: ${namespace} index: _id_ dup key: ${JSON.stringify(keyValue)}`,
    );
    this.details = { keyPattern: { _id: 1 }, keyValue };
  }
}
