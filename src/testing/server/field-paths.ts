import { isArray, isDocument } from './values/bson-value.js';
import type { ArrayValue, DocumentValue, Value } from './values/bson-value.js';
import type { Evaluation, Parameter, PathParameter, Scope } from './operators/compiler.js';
import { NotSimulatedError, ServerError } from './errors/server-error.js';

/** Splits a path into the names of fields, and checks them as the server does. */
export function namesOf(path: string): readonly string[] {
  if (path === '') throw new ServerError(40_352, 'FieldPath cannot be constructed with empty string');
  if (path.endsWith('.')) throw new ServerError(40_353, "FieldPath must not end with a '.'.");
  const names = path.split('.');
  for (const name of names) checkName(name);
  return names;
}

/** Checks one name: a part of a path, or a field of an object expression. */
export function checkName(name: string): void {
  if (name === '') throw new ServerError(15_998, 'FieldPath field names may not be empty strings.');
  if (name.startsWith('$')) throw new ServerError(16_410, "FieldPath field names may not start with '$'.");
  if (name.includes('\0')) throw new ServerError(16_411, 'FieldPath field names may not contain null bytes.');
}

/** The value at a path. In an array, the path goes on in each element that is an object. */
function valueAt(document: DocumentValue, names: readonly string[], from: number): Value | undefined {
  const value = document.get(names[from] ?? '');
  return from === names.length - 1 ? value : valueWithin(value, names, from + 1);
}

function valueWithin(value: Value | undefined, names: readonly string[], from: number): Value | undefined {
  if (isDocument(value)) return valueAt(value, names, from);
  return isArray(value) ? valuesWithin(value, names, from) : undefined;
}

function valuesWithin(array: ArrayValue, names: readonly string[], from: number): ArrayValue {
  const values: Value[] = [];
  for (const element of array) {
    if (!isDocument(element)) continue;
    const value = valueAt(element, names, from);
    if (value !== undefined) values.push(value);
  }
  return values;
}

/** Compiles a path of the document (`$a.b`) or of a variable (`$$this.a`). */
export function compilePath(text: string, scope: Scope): Evaluation {
  if (text.startsWith('$$')) return compileVariable(text.slice(2), scope);
  if (text === '$') throw new ServerError(16_872, "'$' by itself is not a valid FieldPath");
  return ofRoot(namesOf(text.slice(1)));
}

export function compileParameter({ index, isPath }: Parameter): Evaluation {
  if (!isPath) return (at) => at.parameters[index] as Value;
  return (at) => valueAt(at.root, (at.parameters[index] as PathParameter).names, 0);
}

function ofRoot(names: readonly string[]): Evaluation {
  const [name = ''] = names;
  if (names.length === 1) return (at) => at.root.get(name);
  return (at) => valueAt(at.root, names, 0);
}

function compileVariable(path: string, scope: Scope): Evaluation {
  if (path === '') throw new ServerError(16_869, 'empty variable names are not allowed');
  const [variable = '', ...names] = path.includes('.') ? namesOf(path) : [path];
  const slot = scope.find(variable);
  if (slot === undefined) return ofServer(variable, names);
  if (names.length === 0) return (at) => at.slots[slot];
  return (at) => valueWithin(at.slots[slot], names, 0);
}

function ofServer(variable: string, names: readonly string[]): Evaluation {
  switch (variable) {
    case 'ROOT':
    case 'CURRENT':
      return names.length === 0 ? (at) => at.root : ofRoot(names);
    case 'NOW':
      return names.length === 0 ? (at) => at.now : () => undefined;
    case 'REMOVE':
      return () => undefined;
    case 'CLUSTER_TIME':
    case 'JS_SCOPE':
    case 'IS_MR':
    case 'SEARCH_META':
    case 'USER_ROLES':
      throw new NotSimulatedError(`the variable $$${variable}`);
    default:
      throw new ServerError(17_276, `Use of undefined variable: ${variable}`);
  }
}
