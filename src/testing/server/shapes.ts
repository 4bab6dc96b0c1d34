import { Decimal, Double, isArray, isDocument, isTrue, startsWithOperator } from './values/bson-value.js';
import type { ArrayValue, DocumentValue, Value } from './values/bson-value.js';
import { Parameter, PathParameter } from './operators/compiler.js';
import type { ParameterValue } from './operators/compiler.js';
import { namesOf } from './field-paths.js';

/**
 * One expression or projection, as {@link Shapes} splits it: the compiled form of its shape, and its own constants and
 * paths.
 */
export interface Shaped<Compiled> {
  readonly compiled: Compiled;
  readonly parameters: readonly ParameterValue[];
}

/** If the cache has more steps than this, the next call empties it. Sources that cannot be compiled have steps, too. */
const MAX_STEPS = 200_000;

/**
 * A cache of compiled sources: of expressions, or of projections. The key is the shape of the source. The shape is the
 * source without its constants and its longer paths (`$a.b`), which become parameters. A path of one name (`$a`), a
 * path of a variable, and the values that decide how the source is compiled (`STATIC`, `fixedIn`) stay in the shape.
 * The library makes its pipelines and projections anew for each command, with other ids and times in them. But their
 * shapes are few, so most sources are found in the cache.
 */
export class Shapes<Compiled> {
  readonly #sort: 'expression' | 'projection';
  readonly #compile: (source: Value) => Compiled;
  #count = { steps: 0 };
  #first = new Step<Compiled>(this.#count);

  /**
   * @param compile - Is given the source with parameters in place of its constants and paths; a source with an invalid
   *   path is given as it is.
   */
  constructor(sort: 'expression' | 'projection', compile: (source: Value) => Compiled) {
    this.#sort = sort;
    this.#compile = compile;
  }

  /** @throws what `compile` throws. */
  of(source: Value): Shaped<Compiled> {
    if (this.#count.steps > MAX_STEPS) this.#forget();
    const reader = new Reader(this.#first);
    if (this.#sort === 'projection' && isDocument(source)) reader.readProjection(source);
    else reader.readExpression(source, false);
    const { step, parameters, isSound } = reader;
    // The server refuses a path of this source. `compile` then throws the error that the server would report first.
    if (!isSound) return { compiled: this.#compile(source), parameters };
    step.compiled ??= this.#compile(new Parameters().placedIn(source, this.#sort));
    return { compiled: step.compiled, parameters };
  }

  #forget(): void {
    this.#count = { steps: 0 };
    this.#first = new Step(this.#count);
  }
}

/** The marks: the words of a shape that are no texts. */
const [CONSTANT, PATH, ARRAY, END_OF_ARRAY, OBJECT, END_OF_OBJECT] = [0, 1, 2, 3, 4, 5] as const;

/** A node in the tree of all shapes. Each word of a shape, a text or a mark, leads from one step to the next. */
class Step<Compiled> {
  compiled: Compiled | undefined;
  readonly #count: { steps: number };
  #lastWord: string | number | undefined;
  #last: Step<Compiled> | undefined;
  #next: Map<string | number, Step<Compiled>> | undefined;

  constructor(count: { steps: number }) {
    this.#count = count;
  }

  /** The step after this word. Tries the step of the last call first, because most shapes repeat the shape before. */
  to(word: string | number): Step<Compiled> {
    if (word === this.#lastWord && this.#last !== undefined) return this.#last;
    this.#next ??= new Map();
    let step = this.#next.get(word);
    if (step === undefined) {
      step = new Step(this.#count);
      this.#count.steps += 1;
      this.#next.set(word, step);
    }
    this.#lastWord = word;
    this.#last = step;
    return step;
  }
}

/** Follows the shape of a source, and notes its constants and paths. */
class Reader<Compiled> {
  readonly parameters: ParameterValue[] = [];
  step: Step<Compiled>;
  /** Whether the server accepts every path that was read so far. */
  isSound = true;

  constructor(first: Step<Compiled>) {
    this.step = first;
  }

  readExpression(value: Value, isOperands: boolean): void {
    if (typeof value === 'string') this.#readText(value);
    else if (isArray(value)) this.#readArray(value, isOperands);
    else if (isDocument(value)) this.#readFields(value);
    else this.#note(CONSTANT, value);
  }

  readProjection(fields: DocumentValue): void {
    this.#follow(OBJECT);
    for (const [name, value] of fields) {
      this.#follow(name);
      const fixed = fixedIn(value);
      if (fixed !== undefined) this.#follow(fixed);
      else if (isDocument(value) && !startsWithOperator(value)) this.readProjection(value);
      else this.readExpression(value, false);
    }
    this.#follow(END_OF_OBJECT);
  }

  #follow(word: string | number): void {
    this.step = this.step.to(word);
  }

  #note(mark: number, parameter: ParameterValue): void {
    this.#follow(mark);
    this.parameters.push(parameter);
  }

  #readText(text: string): void {
    const kind = kindOf(text);
    if (kind === 'constant') this.#note(CONSTANT, text);
    else if (kind === 'kept') this.#follow(text);
    else this.#readPath(text);
  }

  #readPath(text: string): void {
    const path = pathOf(text);
    if (path === undefined) this.isSound = false;
    else this.#note(PATH, path);
  }

  #readArray(array: ArrayValue, isOperands: boolean): void {
    if (!isOperands && isConstantList(array)) {
      this.#note(CONSTANT, array);
      return;
    }
    this.#follow(ARRAY);
    for (const element of array) this.readExpression(element, false);
    this.#follow(END_OF_ARRAY);
  }

  #readFields(document: DocumentValue): void {
    this.#follow(OBJECT);
    for (const [name, value] of document) {
      this.#follow(name);
      if (name === '$literal') this.#note(CONSTANT, value);
      else if (typeof value === 'string' && STATIC.has(name)) this.#follow(value);
      else this.readExpression(value, name.startsWith('$'));
    }
    this.#follow(END_OF_OBJECT);
  }
}

/** Puts parameters in the place of constants and paths, in the order in which `Reader` notes them. */
class Parameters {
  #count = 0;

  placedIn(source: Value, sort: 'expression' | 'projection'): Value {
    if (sort === 'projection' && isDocument(source)) return this.#inProjection(source);
    return this.#inExpression(source, false);
  }

  #next(isPath: boolean): Value {
    this.#count += 1;
    return new Parameter(this.#count - 1, isPath) as unknown as Value;
  }

  #inProjection(fields: DocumentValue): Value {
    const replaced = new Map<string, Value>();
    for (const [name, value] of fields) {
      if (fixedIn(value) !== undefined) replaced.set(name, value);
      else if (isDocument(value) && !startsWithOperator(value)) replaced.set(name, this.#inProjection(value));
      else replaced.set(name, this.#inExpression(value, false));
    }
    return replaced;
  }

  #inExpression(value: Value, isOperands: boolean): Value {
    if (typeof value === 'string') {
      const kind = kindOf(value);
      return kind === 'kept' ? value : this.#next(kind === 'path');
    }
    if (isArray(value)) {
      if (!isOperands && isConstantList(value)) return this.#next(false);
      return value.map((element) => this.#inExpression(element, false));
    }
    return isDocument(value) ? this.#inFields(value) : this.#next(false);
  }

  #inFields(document: DocumentValue): Value {
    const fields = new Map<string, Value>();
    for (const [name, field] of document) {
      const isStatic = typeof field === 'string' && STATIC.has(name);
      if (name === '$literal') fields.set(name, this.#next(false));
      else fields.set(name, isStatic ? field : this.#inExpression(field, name.startsWith('$')));
    }
    return fields;
  }
}

/** The arguments that an operator needs when it is compiled. The shape keeps such an argument if it is a string. */
const STATIC: ReadonlySet<string> = new Set(['as', 'to', 'regex']);

function kindOf(text: string): 'constant' | 'path' | 'kept' {
  if (!text.startsWith('$')) return 'constant';
  return text.includes('.') && !text.startsWith('$$') ? 'path' : 'kept';
}

/** Whether the array has elements, and each is a constant that is neither an array nor an object. */
function isConstantList(array: ArrayValue): boolean {
  if (array.length === 0) return false;
  for (const element of array) {
    if (typeof element === 'string' && element.startsWith('$')) return false;
    if (isArray(element) || isDocument(element)) return false;
  }
  return true;
}

/** The `count` of a cut, `{ $slice: count }`, if it is an int; `undefined` for any other value. */
export function lengthOfCut(value: Value): number | undefined {
  const length = isDocument(value) && value.size === 1 ? value.get('$slice') : undefined;
  return typeof length === 'number' ? length : undefined;
}

/**
 * The text by which the shape keeps a flag (such as 1 or true) or a cut: values with the same text compile alike.
 * `undefined`: the value is neither.
 */
function fixedIn(value: Value): string | undefined {
  if (typeof value === 'boolean' || typeof value === 'number') return String(value);
  if (typeof value === 'bigint') return `long ${String(value)}`;
  if (value instanceof Double) return `double ${String(value.value)}`;
  if (value instanceof Decimal) return `decimal ${String(isTrue(value))}`;
  const length = lengthOfCut(value);
  return length === undefined ? undefined : `cut ${String(length)}`;
}

/** `paths` is emptied when it has this many entries. */
const MAX_PATHS = 10_000;

const paths = new Map<string, PathParameter>();

/** `undefined`: the server refuses the path. */
function pathOf(text: string): PathParameter | undefined {
  let parameter = paths.get(text);
  if (parameter !== undefined) return parameter;
  try {
    parameter = new PathParameter(namesOf(text.slice(1)));
  } catch {
    return undefined;
  }
  if (paths.size >= MAX_PATHS) paths.clear();
  paths.set(text, parameter);
  return parameter;
}
