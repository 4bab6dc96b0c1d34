import { Decimal128 } from 'mongodb';

import { DateValue, Double, OtherValue } from '../../../src/testing/server/values/bson-value.js';
import type { DocumentValue, Value } from '../../../src/testing/server/values/bson-value.js';
import { parseDecimal } from '../../../src/testing/server/values/decimal.js';

/**
 * Reads the bytes of a document. The driver is no help here: it loses the order of fields whose names are numbers, and
 * dates that a `Date` cannot hold.
 */
export function readBson(bytes: Uint8Array): DocumentValue {
  return new Reader(bytes).document();
}

class Reader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  document(): DocumentValue {
    this.#int();
    const fields = new Map<string, Value>();
    for (let type = this.#byte(); type !== 0; type = this.#byte())
      fields.set(this.#name(), this.#value(type));
    return fields;
  }

  #value(type: number): Value {
    switch (type) {
      case 0x01:
        return new Double(this.#bytes.readDoubleLE(this.#advance(8)));
      case 0x02:
        return this.#text();
      case 0x03:
        return this.document();
      case 0x04:
        return [...this.document().values()];
      case 0x05:
        return this.#binary();
      case 0x07:
        return new OtherValue('objectId', [this.#hex(12)], 12, null);
      case 0x08:
        return this.#byte() === 1;
      case 0x09:
        return new DateValue(this.#long());
      case 0x0a:
        return null;
      case 0x10:
        return this.#int();
      case 0x12:
        return this.#long();
      case 0x13:
        return parseDecimal(new Decimal128(Buffer.from(this.#hex(16), 'hex')).toString());
      default:
        return this.#other(type);
    }
  }

  #other(type: number): OtherValue {
    switch (type) {
      case 0x0b:
        return new OtherValue('regex', [this.#name(), this.#name()], 0, null);
      case 0x0d:
        return new OtherValue('javascript', [this.#text()], 0, null);
      case 0x0e:
        return new OtherValue('symbol', [this.#text()], 0, null);
      case 0x11:
        return new OtherValue('timestamp', [BigInt.asUintN(64, this.#long())], 0, null);
      case 0x7f:
        return new OtherValue('maxKey', [], 0, null);
      case 0xff:
        return new OtherValue('minKey', [], 0, null);
      default:
        throw new Error(`BSON type ${type}`);
    }
  }

  #binary(): OtherValue {
    const length = this.#int();
    const subtype = this.#byte();
    return new OtherValue('binData', [length, subtype, this.#hex(length)], 0, null);
  }

  /** Moves on by so many bytes, and returns where they begin. */
  #advance(count: number): number {
    this.#at += count;
    return this.#at - count;
  }

  #byte(): number {
    return this.#bytes.readUInt8(this.#advance(1));
  }

  #int(): number {
    return this.#bytes.readInt32LE(this.#advance(4));
  }

  #long(): bigint {
    return this.#bytes.readBigInt64LE(this.#advance(8));
  }

  #hex(count: number): string {
    const from = this.#advance(count);
    return this.#bytes.toString('hex', from, from + count);
  }

  #name(): string {
    const end = this.#bytes.indexOf(0, this.#at);
    const name = this.#bytes.toString('utf8', this.#at, end);
    this.#at = end + 1;
    return name;
  }

  #text(): string {
    const length = this.#int();
    const from = this.#advance(length);
    return this.#bytes.toString('utf8', from, from + length - 1);
  }
}
