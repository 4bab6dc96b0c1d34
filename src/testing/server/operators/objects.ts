import { isArray, isDocument, isNullish, typeNameOf } from '../values/bson-value.js';
import type { DocumentValue, Value } from '../values/bson-value.js';
import { presentFields } from '../values/comparison.js';
import { unary } from './compiler.js';
import type { Operators } from './compiler.js';
import { ServerError } from '../errors/server-error.js';

function toArray(value: Value | undefined): Value {
  if (isNullish(value)) return null;
  if (!isDocument(value)) {
    throw new ServerError(40_390, `$objectToArray requires a document input, found: ${typeNameOf(value)}`);
  }
  const entries: DocumentValue[] = [];
  for (const [name, field] of presentFields(value)) {
    entries.push(
      new Map<string, Value>([
        ['k', name],
        ['v', field],
      ]),
    );
  }
  return entries;
}

function toObject(value: Value | undefined): Value {
  if (isNullish(value)) return null;
  if (!isArray(value)) {
    throw new ServerError(40_386, `$arrayToObject requires an array input, found: ${typeNameOf(value)}`);
  }
  const [first] = value;
  if (first === undefined) return new Map();
  if (!isArray(first) && !isDocument(first)) {
    throw new ServerError(40_398, `Unrecognised input type format for $arrayToObject: ${typeNameOf(first)}`);
  }
  const read = isArray(first) ? pairOf : entryOf;
  const fields = new Map<string, Value>();
  for (const element of value) fields.set(...(read(element) as [string, Value]));
  return fields;
}

function pairOf(element: Value): readonly [string, Value] {
  if (!isArray(element)) throw new ServerError(40_396, '$arrayToObject requires a consistent input format');
  const [name, value] = element;
  if (element.length !== 2 || value === undefined) {
    throw new ServerError(40_397, '$arrayToObject requires an array of size 2 arrays');
  }
  return [nameOf(name, 40_395), value];
}

function entryOf(element: Value): readonly [string, Value] {
  if (!isDocument(element))
    throw new ServerError(40_391, '$arrayToObject requires a consistent input format');
  if ([...presentFields(element)].length !== 2) {
    throw new ServerError(40_392, "$arrayToObject requires an object keys of 'k' and 'v'");
  }
  const [name, value] = [element.get('k'), element.get('v')];
  if (name === undefined || value === undefined) {
    throw new ServerError(40_393, "$arrayToObject requires an object with keys 'k' and 'v'");
  }
  return [nameOf(name, 40_394), value];
}

function nameOf(name: Value | undefined, code: number): string {
  if (typeof name !== 'string') throw new ServerError(code, `$arrayToObject requires keys of type string`);
  if (name.includes('\0')) throw new ServerError(4_940_400, 'Key field cannot contain an embedded null byte');
  return name;
}

export const OBJECTS: Operators = {
  $objectToArray: unary('$objectToArray', toArray),
  $arrayToObject: unary('$arrayToObject', toObject),
};
