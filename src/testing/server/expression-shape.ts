import { isArray, isDocument } from './values/bson-value.js';
import type { ArrayValue, DocumentValue, Value } from './values/bson-value.js';
import { Parameter, PathParameter } from './operators/compiler.js';
import type { ParameterValue } from './operators/compiler.js';
import { namesOf } from './field-paths.js';

/**
 * The shape of an expression: its text, with a mark for each parameter. The constants become parameters, and so do the
 * paths with dots. The library makes its pipelines anew for each command, with other ids and times in them. Their
 * shapes are few, so each shape is compiled once.
 */
export class ExpressionShape {
  readonly parameters: ParameterValue[] = [];
  /** Two expressions have the same text only if they have the same shape. */
  readonly text: string;
  #text = '';

  constructor(expression: Value) {
    this.#write(expression, false);
    this.text = this.#text;
  }

  #write(value: Value, isOperands: boolean): void {
    if (typeof value === 'string') this.#writeText(value);
    else if (isArray(value)) this.#writeArray(value, isOperands);
    else if (isDocument(value)) this.#writeFields(value);
    else this.#add('?', value);
  }

  #add(mark: string, parameter: ParameterValue): void {
    this.#text += mark;
    this.parameters.push(parameter);
  }

  #writeText(text: string): void {
    const kind = kindOf(text);
    if (kind === 'constant') this.#add('?', text);
    else if (kind === 'path') this.#add('.', pathNames(text));
    else this.#keep(text);
  }

  /** The length tells where a text ends, whatever characters it has. */
  #keep(text: string): void {
    this.#text += `${text.length}:${text}`;
  }

  #writeArray(array: ArrayValue, isOperands: boolean): void {
    if (!isOperands && isConstantList(array)) {
      this.#add('?', array);
      return;
    }
    this.#text += '[';
    for (const element of array) this.#write(element, false);
    this.#text += ']';
  }

  #writeFields(document: DocumentValue): void {
    this.#text += '{';
    for (const [name, value] of document) {
      this.#keep(name);
      if (name === '$literal') this.#add('?', value);
      else if (typeof value === 'string' && STATIC.has(name)) this.#keep(value);
      else this.#write(value, name.startsWith('$'));
    }
    this.#text += '}';
  }
}

/** The arguments that an operator needs when it is compiled. They stay in the shape. */
const STATIC: ReadonlySet<string> = new Set(['as', 'to', 'regex']);

function kindOf(text: string): 'constant' | 'path' | 'kept' {
  if (!text.startsWith('$')) return 'constant';
  return text.includes('.') && !text.startsWith('$$') ? 'path' : 'kept';
}

/** Whether the array has elements, and each of them is a constant that is neither an array nor an object. */
function isConstantList(array: ArrayValue): boolean {
  if (array.length === 0) return false;
  for (const element of array) {
    if (typeof element === 'string' && element.startsWith('$')) return false;
    if (isArray(element) || isDocument(element)) return false;
  }
  return true;
}

/** The most paths in the cache. */
const MAX_PATHS = 10_000;

const paths = new Map<string, readonly string[]>();

function pathNames(path: string): PathParameter {
  let names = paths.get(path);
  if (names === undefined) {
    names = namesOf(path.slice(1));
    if (paths.size >= MAX_PATHS) paths.clear();
    paths.set(path, names);
  }
  return new PathParameter(names);
}

/** The expression with a `Parameter` for each of `ExpressionShape.parameters`, numbered in the same order. */
export function withParameters(expression: Value): Value {
  let count = 0;
  const next = (isPath: boolean): Value => new Parameter((count += 1) - 1, isPath) as unknown as Value;
  const replaced = (value: Value, isOperands: boolean): Value => {
    if (typeof value === 'string') {
      const kind = kindOf(value);
      return kind === 'kept' ? value : next(kind === 'path');
    }
    if (isArray(value)) {
      if (!isOperands && isConstantList(value)) return next(false);
      return value.map((element) => replaced(element, false));
    }
    if (!isDocument(value)) return next(false);
    const fields = new Map<string, Value>();
    for (const [name, field] of value) {
      const isStatic = typeof field === 'string' && STATIC.has(name);
      if (name === '$literal') fields.set(name, next(false));
      else fields.set(name, isStatic ? field : replaced(field, name.startsWith('$')));
    }
    return fields;
  };
  return replaced(expression, false);
}
