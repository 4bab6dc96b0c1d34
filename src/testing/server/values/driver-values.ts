import { DateValue, Decimal, Double, MAX_INT, MIN_INT, OtherValue, isArray } from './bson-value.js';
import type { DocumentValue, Value } from './bson-value.js';
import { decimalText, parseDecimal } from './decimal.js';

/**
 * The parts of the driver's BSON classes that are read here. `_bsontype` tells the class. `instanceof` cannot, because
 * an application may have two copies of the driver.
 */
interface BsonObject {
  readonly _bsontype: string;
  readonly value?: unknown;
  readonly code?: unknown;
  readonly scope?: unknown;
  readonly pattern?: string;
  readonly options?: string;
  readonly sub_type?: number;
  readonly buffer?: Uint8Array;
  readonly position?: number;
  readonly low?: number;
  readonly high?: number;
  toHexString?(): string;
  toString(): string;
}

/** Encodes as the driver's serializer does. */
export function fromDriver(js: unknown): Value {
  if (typeof js === 'string' || typeof js === 'boolean') return js;
  if (typeof js === 'number') return isIntegral(js) ? js : new Double(js);
  if (typeof js === 'bigint') return BigInt.asIntN(64, js);
  return typeof js === 'object' && js !== null ? fromObject(js) : null;
}

const isIntegral = (js: number): boolean =>
  Number.isInteger(js) && js >= MIN_INT && js <= MAX_INT && !Object.is(js, -0);

function fromObject(js: object): Value {
  // The spread turns a hole into `undefined`. `filter` would leave the hole out.
  if (Array.isArray(js)) return [...(js as unknown[])].map(substituted).filter(hasEncoding).map(fromDriver);
  return (Object.getPrototypeOf(js) === Object.prototype ? fieldsOf(js) : undefined) ?? fromSpecial(js);
}

/**
 * The fields of a plain object; `undefined` if the object has a `_bsontype` or a `toBSON`. Nearly all objects have
 * neither.
 */
function fieldsOf(js: object): DocumentValue | undefined {
  const fields = new Map<string, Value>();
  for (const name of Object.keys(js)) {
    if (name === '_bsontype' || name === 'toBSON') return undefined;
    put(fields, name, (js as Readonly<Record<string, unknown>>)[name]);
  }
  return fields;
}

function fromSpecial(js: object): Value {
  if (js instanceof Date) return new DateValue(BigInt(Number.isNaN(js.getTime()) ? 0 : js.getTime()));
  if ('_bsontype' in js && typeof js._bsontype === 'string') return fromBson(js as BsonObject);
  if (hasOwnEncoding(js)) return fromDriver(js.toBSON());
  if (js instanceof RegExp) return regularExpression(js.source, optionsOf(js));
  if (js instanceof Uint8Array) return binary(js, 0, new BinaryObject(js));
  const fields = new Map<string, Value>();
  if (js instanceof Map) for (const [name, value] of js as Map<string, unknown>) put(fields, name, value);
  else for (const name of Object.keys(js)) put(fields, name, (js as Readonly<Record<string, unknown>>)[name]);
  return fields;
}

const hasOwnEncoding = (js: object): js is { toBSON(): unknown } =>
  'toBSON' in js && typeof js.toBSON === 'function';

/** The value that the driver encodes in place of this one. */
const substituted = (js: unknown): unknown =>
  (typeof js === 'object' || typeof js === 'function') && js !== null && hasOwnEncoding(js)
    ? js.toBSON()
    : js;

/** The driver leaves out functions and symbols, in documents and in arrays. The driver stores `undefined` as null. */
const hasEncoding = (js: unknown): boolean => typeof js !== 'function' && typeof js !== 'symbol';

function put(fields: Map<string, Value>, name: string, js: unknown): void {
  const value = substituted(js);
  if (hasEncoding(value)) fields.set(name, fromDriver(value));
}

/** The options that the driver sends for a regular expression, in the driver's order. The driver sends `s` for `g`. */
const optionsOf = ({ ignoreCase, multiline, global }: RegExp): string =>
  `${ignoreCase ? 'i' : ''}${global ? 's' : ''}${multiline ? 'm' : ''}`;

function regularExpression(pattern: string, options: string): OtherValue {
  const size = Buffer.byteLength(pattern) + options.length + 2;
  const flags = `${options.includes('i') ? 'i' : ''}${options.includes('m') ? 'm' : ''}`;
  return new OtherValue('regex', [pattern, options], size, new RegExp(pattern, flags));
}

const binary = (bytes: Uint8Array, subtype: number, decoded: unknown): OtherValue =>
  new OtherValue(
    'binData',
    [bytes.length, subtype, Buffer.from(bytes).toString('hex')],
    bytes.length + 5,
    decoded,
  );

function fromBson(js: BsonObject): Value {
  switch (js._bsontype) {
    case 'Int32':
      return Number(js.value);
    case 'Double':
      return new Double(Number(js.value));
    case 'Long':
      return bitsOf(js);
    case 'Decimal128':
      return parseDecimal(js.toString());
    case 'ObjectId':
      return new OtherValue('objectId', [js.toHexString?.() ?? ''], 12, js);
    case 'Binary':
      return binary((js.buffer ?? new Uint8Array()).subarray(0, js.position), js.sub_type ?? 0, js);
    case 'BSONRegExp':
      return regularExpression(js.pattern ?? '', js.options ?? '');
    case 'Timestamp':
      return new OtherValue('timestamp', [BigInt.asUintN(64, bitsOf(js))], 8, js);
    case 'BSONSymbol':
      return new OtherValue('symbol', [String(js.value)], stringSize(String(js.value)), js.value);
    case 'Code':
      return code(js);
    case 'MinKey':
      return new OtherValue('minKey', [], 0, js);
    case 'MaxKey':
      return new OtherValue('maxKey', [], 0, js);
    default:
      throw new TypeError(`no BSON type: ${js._bsontype}`);
  }
}

function code(js: BsonObject): OtherValue {
  const text = String(js.code);
  if (js.scope === null || js.scope === undefined)
    return new OtherValue('javascript', [text], stringSize(text), js);
  const scope = fromDriver(js.scope) as DocumentValue;
  return new OtherValue('javascriptWithScope', [text], 4 + stringSize(text) + sizeOf(scope), js);
}

const bitsOf = ({ low = 0, high = 0 }: BsonObject): bigint =>
  (BigInt(high) << 32n) | BigInt.asUintN(32, BigInt(low));

/** The object that a read returns for a long beyond -2^53 to 2^53, with the main members of the driver's `Long`. */
class LongObject {
  readonly _bsontype = 'Long';
  readonly low: number;
  readonly high: number;
  readonly unsigned = false;

  constructor(exact: bigint) {
    this.low = Number(BigInt.asIntN(32, exact));
    this.high = Number(BigInt.asIntN(32, exact >> 32n));
  }

  toBigInt(): bigint {
    return bitsOf(this);
  }

  toNumber(): number {
    return Number(this.toBigInt());
  }

  toString(): string {
    return this.toBigInt().toString();
  }
}

/** The object that a read returns for a stored `Uint8Array`, with the main members of the driver's `Binary`. */
class BinaryObject {
  readonly _bsontype = 'Binary';
  readonly sub_type = 0;
  readonly buffer: Uint8Array;
  readonly position: number;

  constructor(bytes: Uint8Array) {
    this.buffer = Uint8Array.from(bytes);
    this.position = bytes.length;
  }

  length(): number {
    return this.position;
  }

  toJSON(): string {
    return Buffer.from(this.buffer).toString('base64');
  }
}

/** The object that a read returns for a decimal, with the main members of the driver's `Decimal128`. */
class DecimalObject {
  readonly _bsontype = 'Decimal128';
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  toString(): string {
    return this.#text;
  }

  toJSON(): { readonly $numberDecimal: string } {
    return { $numberDecimal: this.#text };
  }
}

const MAX_EXACT = 2n ** 53n;

/** Decodes as the driver does when its option `promoteValues` is on: a long from -2^53 to 2^53 becomes a number. */
export function toDriver(value: Value): unknown {
  if (typeof value === 'bigint') {
    return value >= -MAX_EXACT && value <= MAX_EXACT ? Number(value) : new LongObject(value);
  }
  if (typeof value !== 'object') return value;
  if (value === null) return null;
  if (isArray(value)) return value.map(toDriver);
  if (value instanceof Double) return value.value;
  if (value instanceof DateValue) return new Date(Number(value.ms));
  if (value instanceof Decimal) return new DecimalObject(decimalText(value));
  if (value instanceof OtherValue) return value.decoded;
  return toObject(value);
}

function toObject(document: DocumentValue): Record<string, unknown> {
  const object: Record<string, unknown> = {};
  for (const [name, value] of document as ReadonlyMap<string, Value | undefined>) {
    if (value === undefined) continue;
    const decoded = toDriver(value);
    if (name !== '__proto__') object[name] = decoded;
    else {
      const visible = { writable: true, enumerable: true, configurable: true };
      Object.defineProperty(object, name, { value: decoded, ...visible });
    }
  }
  return object;
}

/** The size of a document in BSON, in bytes: its length field, its fields and the byte at its end. */
export function sizeOf(document: DocumentValue): number {
  let size = 5;
  for (const [name, value] of document as ReadonlyMap<string, Value | undefined>) {
    if (value !== undefined) size += fieldSize(Buffer.byteLength(name), value);
  }
  return size;
}

/** One byte for the type, the name, one byte after it, and the value. */
const fieldSize = (nameBytes: number, value: Value): number => 2 + nameBytes + sizeOfValue(value);

const stringSize = (text: string): number => 5 + Buffer.byteLength(text);

function sizeOfValue(value: Value): number {
  if (typeof value === 'number') return 4;
  if (typeof value === 'bigint') return 8;
  if (typeof value === 'boolean') return 1;
  if (typeof value === 'string') return stringSize(value);
  if (value === null) return 0;
  if (isArray(value))
    return value.reduce<number>((sum, each, at) => sum + fieldSize(String(at).length, each), 5);
  if (value instanceof Decimal) return 16;
  if (value instanceof OtherValue) return value.size;
  return value instanceof Map ? sizeOf(value) : 8;
}
