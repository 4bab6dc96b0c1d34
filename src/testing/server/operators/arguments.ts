import type { DocumentValue, Value } from '../values/bson-value.js';
import { ServerError } from '../errors/server-error.js';

/** The named arguments of an operator. An unknown name fails with the error code `code`. */
export function fieldsOf(
  operator: string,
  argument: DocumentValue,
  names: readonly string[],
  code: number,
): ReadonlyMap<string, Value> {
  for (const name of argument.keys()) {
    if (!names.includes(name)) throw new ServerError(code, `Unrecognized parameter to ${operator}: ${name}`);
  }
  return argument;
}

export function requiredOf(
  operator: string,
  given: ReadonlyMap<string, Value>,
  name: string,
  code: number,
): Value {
  const value = given.get(name);
  if (value === undefined) throw new ServerError(code, `Missing '${name}' parameter to ${operator}`);
  return value;
}
