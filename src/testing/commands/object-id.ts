import type { Member } from '../replica-set/member.js';
import { OtherValue } from '../server/values.js';

/** An id that the server makes for a document without one. It has the shape of the driver's `ObjectId`. */
class ObjectIdObject {
  readonly _bsontype = 'ObjectId';
  readonly #digits: string;

  constructor(digits: string) {
    this.#digits = digits;
  }

  toHexString(): string {
    return this.#digits;
  }

  toString(): string {
    return this.#digits;
  }

  toJSON(): string {
    return this.#digits;
  }
}

/**
 * The id consists of the seconds, the term, and the number of entries in the oplog. So no two documents get the same
 * id.
 */
export function newObjectId({ nowMs, term, length }: Member): OtherValue {
  const digits = [Math.floor(nowMs / 1_000), term, length].map((part) => part.toString(16).padStart(8, '0'));
  const text = digits.join('');
  return new OtherValue('objectId', [text], 12, new ObjectIdObject(text));
}
