import type { Member } from '../replica-set/member.js';
import { OtherValue } from '../server/values.js';

/**
 * An id that the server makes for a document without one: an object with the main members of the driver's `ObjectId`.
 */
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
 * The id consists of the seconds of the member's clock, its term, and the number of entries in its oplog. In one term,
 * only one member appends entries, and their number rises. So no two documents get the same id.
 */
export function newObjectId({ nowMs, term, length }: Member): OtherValue {
  const digits = [Math.floor(nowMs / 1_000), term, length].map((part) => part.toString(16).padStart(8, '0'));
  const text = digits.join('');
  return new OtherValue('objectId', [text], 12, new ObjectIdObject(text));
}
