import {
  DateValue,
  Double,
  intOrLong,
  isArray,
  isDocument,
  isLong,
  isNumber,
  typeNameOf,
} from './values/bson-value.js';
import type { ArrayValue, DocumentValue, NumberValue, Value } from './values/bson-value.js';
import { compareStrings, compareValues } from './values/comparison.js';
import { toNumber } from './operators/arithmetic.js';
import { NotSimulatedError, ServerError } from './errors/server-error.js';

/** The new value of a field may depend on these circumstances of the update. */
interface Moment {
  readonly isInsert: boolean;
  readonly nowMs: number;
}

/** The new value of a field. `REMOVED` removes the field, and `KEPT` leaves it as it is. */
type Change = (old: Value | undefined, at: Moment) => Value | typeof REMOVED | typeof KEPT;

const REMOVED = Symbol('removed');
const KEPT = Symbol('kept');

const BAD_VALUE = 2;
const TYPE_MISMATCH = 14;

interface FieldUpdate {
  readonly path: string;
  readonly names: readonly string[];
  readonly change: Change;
}

const updates = new WeakMap<object, readonly FieldUpdate[]>();

export function applyOperators(
  document: DocumentValue,
  update: DocumentValue,
  isInsert: boolean,
  nowMs: number,
): DocumentValue {
  let fields = updates.get(update);
  if (fields === undefined) updates.set(update, (fields = compileUpdate(update)));
  const at: Moment = { isInsert, nowMs };
  let result: Value = document;
  for (const { path, names, change } of fields) result = changed(result, names, 0, path, change, at);
  const [before, after] = [document.get('_id'), (result as DocumentValue).get('_id')];
  const isSameId = before === undefined || (after !== undefined && compareValues(before, after) === 0);
  if (!isSameId)
    throw new ServerError(
      66,
      "Performing an update on the path '_id' would modify the immutable field '_id'",
    );
  return result as DocumentValue;
}

/** The changed fields, in the order in which the server adds new fields. */
function compileUpdate(update: DocumentValue): readonly FieldUpdate[] {
  const fields: FieldUpdate[] = [];
  for (const [operator, argument] of update) {
    const make = OPERATORS[operator];
    if (make === undefined) throw new NotSimulatedError(`the update operator ${operator}`);
    if (!isDocument(argument)) {
      throw new ServerError(
        9,
        `Modifiers operate on fields but we found type ${typeNameOf(argument)} instead`,
      );
    }
    for (const [path, value] of argument) {
      const field = { path, names: namesOf(path), change: make(value, path) };
      refuseConflict(fields, path);
      fields.push(field);
    }
  }
  return fields.sort((a, b) => comparePaths(a.names, b.names));
}

/** Two paths of one update must not be equal, and neither may lie within the other. */
function refuseConflict(fields: readonly FieldUpdate[], path: string): void {
  const isWithin = (inner: string, outer: string): boolean =>
    inner === outer || inner.startsWith(`${outer}.`);
  const other = fields.find((field) => isWithin(field.path, path) || isWithin(path, field.path));
  if (other === undefined) return;
  throw new ServerError(40, `Updating the path '${path}' would create a conflict at '${other.path}'`);
}

function namesOf(path: string): readonly string[] {
  const names = path.split('.');
  for (const name of names) {
    if (name === '') throw new ServerError(56, `The update path '${path}' contains an empty field name`);
    if (name.startsWith('$')) throw new NotSimulatedError(`the update path ${path}`);
  }
  return names;
}

/** Field names are compared as texts, and array indexes as numbers. */
function comparePaths(a: readonly string[], b: readonly string[]): number {
  const isIndex = (name: string): boolean => /^(0|[1-9]\d*)$/.test(name);
  for (const [index, name] of a.entries()) {
    const other = b[index];
    if (other === undefined) return 1;
    const order =
      isIndex(name) && isIndex(other) ? Number(name) - Number(other) : compareStrings(name, other);
    if (order !== 0) return order;
  }
  return a.length - b.length;
}

/** The value with the change at this path. Missing objects on the way to a new field are created. */
function changed(
  value: Value | undefined,
  names: readonly string[],
  from: number,
  path: string,
  change: Change,
  at: Moment,
): Value {
  const name = names[from] ?? '';
  const next = (old: Value | undefined): Value | typeof REMOVED | typeof KEPT => {
    if (from === names.length - 1) return change(old, at);
    if (old !== undefined && !isDocument(old) && !isArray(old)) {
      if (change(undefined, at) === KEPT) return KEPT;
      throw new ServerError(
        28,
        `Cannot create field '${names[from + 1] ?? ''}' in element {${name}: …} of ${path}`,
      );
    }
    if (old === undefined && change(undefined, at) === KEPT) return KEPT;
    return changed(old, names, from + 1, path, change, at);
  };
  if (isArray(value)) return changedArray(value, name, next);
  const fields = new Map(value as DocumentValue | undefined);
  const result = next(fields.get(name));
  if (result === REMOVED) fields.delete(name);
  else if (result !== KEPT) fields.set(name, result);
  return fields;
}

function changedArray(
  array: ArrayValue,
  name: string,
  next: (old: Value | undefined) => Value | typeof REMOVED | typeof KEPT,
): Value {
  if (!/^(0|[1-9]\d*)$/.test(name)) {
    if (next(undefined) === KEPT) return array;
    throw new ServerError(28, `Cannot create field '${name}' in an array`);
  }
  const index = Number(name);
  const result = next(array[index]);
  if (result === KEPT) return array;
  const elements = [...array];
  while (elements.length < index) elements.push(null);
  elements[index] = result === REMOVED ? null : result;
  return elements;
}

function computed(
  operator: string,
  path: string,
  old: Value | undefined,
  argument: NumberValue,
  ofMissing: (argument: NumberValue) => NumberValue,
): Value {
  if (old === undefined) return ofMissing(argument);
  if (!isNumber(old)) {
    throw new ServerError(TYPE_MISMATCH, `Cannot apply ${operator} to a value of non-numeric type: ${path}`);
  }
  const isSum = operator === '$inc';
  if (typeof old === 'object' || typeof argument === 'object') {
    const [a, b] = [toNumber(old), toNumber(argument)];
    const result = isSum ? a + b : a * b;
    // If the old value is a double and the result equals it, the server keeps the old value. So -0 stays -0.
    return old instanceof Double && result === a ? old : new Double(result);
  }
  const [a, b] = [BigInt(old), BigInt(argument)];
  const exact = isSum ? a + b : a * b;
  if (!isLong(exact))
    throw new ServerError(BAD_VALUE, `Failed to apply ${operator} operations to current value`);
  return typeof old === 'number' && typeof argument === 'number' ? intOrLong(exact) : exact;
}

const arithmetic =
  (operator: '$inc' | '$mul', ofMissing: (argument: NumberValue) => NumberValue) =>
  (argument: Value, path: string): Change => {
    if (!isNumber(argument)) {
      throw new ServerError(
        TYPE_MISMATCH,
        `Cannot ${operator === '$inc' ? 'increment' : 'multiply'} with non-numeric argument: ${path}`,
      );
    }
    return (old) => computed(operator, path, old, argument, ofMissing);
  };

function zeroLike(argument: NumberValue): NumberValue {
  if (typeof argument === 'number') return 0;
  return typeof argument === 'bigint' ? 0n : new Double(toNumber(argument) * 0);
}

const extreme =
  (sign: 1 | -1) =>
  (argument: Value): Change =>
  (old) =>
    old === undefined || compareValues(argument, old) === sign ? argument : KEPT;

function push(argument: Value, path: string): Change {
  const added = addedBy('$push', argument);
  return (old) => {
    if (old === undefined) return added;
    if (!isArray(old))
      throw new ServerError(
        BAD_VALUE,
        `The field '${path}' must be an array but is of type ${typeNameOf(old)}`,
      );
    return [...old, ...added];
  };
}

function addToSet(argument: Value, path: string): Change {
  const added = addedBy('$addToSet', argument);
  return (old) => {
    if (old !== undefined && !isArray(old)) {
      throw new ServerError(BAD_VALUE, `Cannot apply $addToSet to non-array field ${path}`);
    }
    const elements = [...(old ?? [])];
    for (const value of added) {
      if (!elements.some((element) => compareValues(element, value) === 0)) elements.push(value);
    }
    return elements;
  };
}

function addedBy(operator: string, argument: Value): ArrayValue {
  if (!isDocument(argument)) return [argument];
  const names = [...argument.keys()];
  if (names[0]?.startsWith('$') !== true) return [argument];
  const each = argument.get('$each');
  if (names.length > 1 || each === undefined)
    throw new NotSimulatedError(`${operator} with ${names.join(', ')}`);
  if (!isArray(each))
    throw new ServerError(operator === '$push' ? BAD_VALUE : TYPE_MISMATCH, '$each must be an array');
  return each;
}

function currentDate(argument: Value): Change {
  const type = isDocument(argument) ? argument.get('$type') : 'date';
  if (typeof argument !== 'boolean' && !isDocument(argument)) {
    throw new ServerError(BAD_VALUE, `${typeNameOf(argument)} is not valid type for $currentDate`);
  }
  if (type !== 'date') throw new NotSimulatedError('$currentDate with another type than date');
  return (_, { nowMs }) => new DateValue(BigInt(nowMs));
}

const OPERATORS: Readonly<Record<string, (argument: Value, path: string) => Change>> = {
  $set: (argument) => () => argument,
  $setOnInsert:
    (argument) =>
    (_, { isInsert }) =>
      isInsert ? argument : KEPT,
  $unset: () => (old) => (old === undefined ? KEPT : REMOVED),
  $inc: arithmetic('$inc', (argument) => argument),
  $mul: arithmetic('$mul', zeroLike),
  $max: extreme(1),
  $min: extreme(-1),
  $push: push,
  $addToSet: addToSet,
  $currentDate: currentDate,
};
