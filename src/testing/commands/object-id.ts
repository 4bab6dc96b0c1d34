import type { Clock } from '../../clock.js';
import type { Member } from '../replica-set/member.js';
import { OtherValue } from '../server/values.js';

/** An id for a document without one: an object with the main members of the driver's `ObjectId`. */
class ObjectIdObject {
  readonly _bsontype = 'ObjectId';
  readonly #digits: string;

  constructor(digits: string) {
    this.#digits = digits;
  }

  toHexString(): string {
    return this.#digits;
  }

  equals(other: unknown): boolean {
    return String(other) === this.#digits;
  }

  toString(): string {
    return this.#digits;
  }

  toJSON(): string {
    return this.#digits;
  }
}

/** An id that a process makes, as the driver does, for a document that it inserts: the seconds, and random digits. */
export const idOfProcess = (clock: Clock): object =>
  new ObjectIdObject(inEightDigits(clock.wallMs() / 1_000) + clock.chance.hex(8));

/**
 * An id that the server makes for a document of an upsert. The id consists of the seconds of the member's clock, its
 * term, and the number of entries in its oplog. In one term, only one member appends entries, and their number rises.
 * So no two documents of a set get the same id.
 */
export function newObjectId({ nowMs, term, length }: Member): OtherValue {
  const text = [nowMs / 1_000, term, length].map(inEightDigits).join('');
  return new OtherValue('objectId', [text], 12, new ObjectIdObject(text));
}

const inEightDigits = (part: number): string => Math.floor(part).toString(16).padStart(8, '0');
