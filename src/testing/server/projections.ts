import { Decimal, Double, isArray, isDocument, isTrue, startsWithOperator } from './values/bson-value.js';
import type { DocumentValue, Value } from './values/bson-value.js';
import type { Environment } from './operators/compiler.js';
import { compile, environmentOf } from './expressions.js';
import { FieldTree, IN_PROJECTION, compacted } from './field-tree.js';
import { NotSimulatedError, ServerError } from './errors/server-error.js';
import { Shapes, lengthOfCut } from './shapes.js';
import type { Shaped } from './shapes.js';

type Projection = (document: DocumentValue, at: Environment) => DocumentValue;

export interface CompiledProjection {
  readonly apply: Projection;
  /** Whether the projection includes fields and computes none. */
  readonly isPlainInclusion: boolean;
}

const shapes = new Shapes('projection', compileFind);

const projections = new WeakMap<object, Shaped<Projection>>();

/** The part of a document that `find`, `findAndModify` or a change stream shows for these fields. */
export function project(document: DocumentValue, fields: DocumentValue, nowMs: number): DocumentValue {
  let shaped = projections.get(fields);
  if (shaped === undefined) projections.set(fields, (shaped = shapes.of(fields)));
  const { compiled: projection, parameters } = shaped;
  return compacted(projection(document, environmentOf(document, nowMs, parameters)));
}

/** A projection of `find` or `findAndModify` may also cut an array: `{ field: { $slice: count } }`. */
function compileFind(fields: Value): Projection {
  if (!isDocument(fields)) throw new TypeError('a projection is an object');
  const cuts: (readonly [string, number])[] = [];
  const others = new Map<string, Value>();
  for (const [path, value] of fields) {
    const count = sliceOf(path, value);
    if (count === undefined) others.set(path, value);
    else {
      if (path.includes('.')) throw new NotSimulatedError('$slice of a field within another one');
      cuts.push([path, count]);
    }
  }
  if (cuts.length === 0) return others.size === 0 ? (document) => document : compileProjection(others).apply;
  if (!hasInclusion(others)) throw new NotSimulatedError('$slice without fields that are included');
  for (const [path] of cuts) others.set(path, 1);
  const { apply } = compileProjection(others);
  return (document, at) => cut(apply(document, at), cuts);
}

function sliceOf(path: string, value: Value): number | undefined {
  if (isDocument(value) && (value.has('$elemMatch') || path.endsWith('.$')))
    throw new NotSimulatedError(`the projection of ${path}`);
  return lengthOfCut(value);
}

function cut(document: DocumentValue, cuts: readonly (readonly [string, number])[]): DocumentValue {
  const fields = new Map(document);
  for (const [path, count] of cuts) {
    const array = fields.get(path);
    if (isArray(array)) fields.set(path, count < 0 ? array.slice(count) : array.slice(0, count));
  }
  return fields;
}

const isFlag = (value: Value): boolean =>
  typeof value === 'boolean' ||
  typeof value === 'number' ||
  typeof value === 'bigint' ||
  value instanceof Double ||
  value instanceof Decimal;

const hasInclusion = (fields: DocumentValue): boolean =>
  [...fields].some(([path, value]) => path !== '_id' && (!isFlag(value) || isTrue(value)));

/**
 * One path of a projection. `value` is a flag, such as 1 to include the field or 0 to exclude it, or an expression.
 * `objects` are the paths of the projection's inner objects that contain the path, the outermost first.
 */
type Wish = readonly [path: string, value: Value, objects: readonly string[]];

/**
 * Splits a projection into its paths. If the value at a path is an object that is no expression, each field of that
 * object is a path of its own.
 */
function wishesOf(fields: DocumentValue, objects: readonly string[] = []): readonly Wish[] {
  const around = objects.at(-1);
  return [...fields].flatMap(([name, value]): readonly Wish[] => {
    const path = around === undefined ? name : `${around}.${name}`;
    if (!isDocument(value) || startsWithOperator(value)) return [[path, value, objects]];
    if (value.size === 0) throw new ServerError(51_270, 'An empty sub-projection is not a valid value');
    return wishesOf(value, [...objects, path]);
  });
}

export function compileProjection(fields: DocumentValue): CompiledProjection {
  const wishes = wishesOf(fields);
  const tree = new FieldTree(IN_PROJECTION);
  const first = wishes.find(([path]) => path !== '_id') ?? wishes[0];
  const isInclusion = first !== undefined && (!isFlag(first[1]) || isTrue(first[1]));
  for (const [path, value, objects] of wishes) {
    for (const object of objects) tree.enter(object);
    // The server reports a collision of two paths before it refuses a value that does not fit the kind of projection,
    // with one exception: in an exclusion, an expression that is an object is refused first.
    if (!isFlag(value)) {
      if (!isInclusion && isDocument(value)) throw expressionRefused(31_252, path);
      tree.add(path, compile(value));
      if (!isInclusion) throw expressionRefused(31_310, path);
    } else if (isTrue(value) === isInclusion) tree.add(path, 'listed');
    else if (path !== '_id') {
      tree.add(path, 'listed');
      throw new ServerError(isInclusion ? 31_254 : 31_253, `Cannot both include and exclude fields: ${path}`);
    }
  }
  if (!isInclusion) return { apply: (document) => tree.excluding(document), isPlainInclusion: false };
  if (!wishes.some(([path]) => path === '_id')) tree.add('_id', 'listed');
  if (!tree.computes) return { apply: (document) => tree.including(document), isPlainInclusion: true };
  return {
    apply: (document, at) => tree.withComputed(tree.including(document), at),
    isPlainInclusion: false,
  };
}

const expressionRefused = (code: number, path: string): ServerError =>
  new ServerError(code, `Cannot use an expression in an exclusion projection: ${path}`);
