import { isArray, isDocument, startsWithOperator, typeNameOf } from './values/bson-value.js';
import type { ArrayValue, DocumentValue, Value } from './values/bson-value.js';
import { compareValues } from './values/comparison.js';
import { compile, environmentOf } from './expressions.js';
import { FieldTree, IN_PROJECTION, IN_SET, compacted } from './field-tree.js';
import { compileProjection } from './projections.js';
import type { CompiledProjection } from './projections.js';
import { NotSimulatedError, ServerError } from './errors/server-error.js';
import { Shapes } from './shapes.js';
import type { Shaped } from './shapes.js';

export { applyOperators } from './update-operators.js';

type Stage = CompiledProjection;

const shapes = new Shapes('expression', compileStages);

const pipelines = new WeakMap<object, Shaped<readonly Stage[]>>();

export function applyPipeline(document: DocumentValue, pipeline: Value, nowMs: number): DocumentValue {
  if (!isArray(pipeline)) throw new TypeError('a pipeline is an array');
  let shaped = pipelines.get(pipeline);
  if (shaped === undefined) pipelines.set(pipeline, (shaped = compileOnce(pipeline)));
  const { compiled: stages, parameters } = shaped;
  const at = environmentOf(document, nowMs, parameters);
  let stored = document;
  for (const { apply, isPlainInclusion } of stages) {
    const before = at.root;
    at.root = apply(before, at);
    // A plain inclusion of a stored document, or of an object in it, makes the server copy the fields. In the copy,
    // removed fields have no position any more.
    if (isPlainInclusion && isPartOf(before, stored)) at.root = stored = compacted(at.root);
  }
  return withIdOf(document, compacted(at.root));
}

const isPartOf = (part: DocumentValue, whole: Value): boolean => {
  if (part === whole) return true;
  if (isDocument(whole)) return [...whole.values()].some((value) => isPartOf(part, value));
  return isArray(whole) && whole.some((value) => isPartOf(part, value));
};

/** A change of the `_id` is refused. An `_id` that the update has removed is put back. The `_id` is the first field. */
function withIdOf(before: DocumentValue, after: DocumentValue): DocumentValue {
  const [id, stored] = [after.get('_id'), before.get('_id')];
  if (stored === undefined) return after;
  if (id !== undefined && (compareValues(id, stored) !== 0 || typeNameOf(id) !== typeNameOf(stored))) {
    throw new ServerError(
      66,
      "Performing an update on the path '_id' would modify the immutable field '_id'",
    );
  }
  return isFirst('_id', after) ? after : new Map([['_id', stored], ...after]);
}

function isFirst(name: string, document: DocumentValue): boolean {
  for (const first of document.keys()) return first === name;
  return false;
}

function compileStages(pipeline: Value): readonly Stage[] {
  if (!isArray(pipeline)) throw new TypeError('a pipeline is an array');
  return pipeline.map(compileStage);
}

/** The stages whose arguments are expressions. The cache of shapes takes no pipeline with any other stage. */
const OF_EXPRESSIONS: ReadonlySet<string> = new Set(['$set', '$addFields', '$replaceWith', '$replaceRoot']);

function compileOnce(pipeline: ArrayValue): Shaped<readonly Stage[]> {
  const isShared = pipeline.every(
    (stage) => isDocument(stage) && [...stage.keys()].every((name) => OF_EXPRESSIONS.has(name)),
  );
  return isShared ? shapes.of(pipeline) : { compiled: compileStages(pipeline), parameters: [] };
}

function compileStage(stage: Value): Stage {
  if (!isDocument(stage) || stage.size !== 1) {
    throw new ServerError(40_323, 'A pipeline stage specification object must contain exactly one field.');
  }
  for (const [name, argument] of stage) return compileNamed(name, argument);
  throw new TypeError('a stage has a field');
}

function compileNamed(name: string, argument: Value): Stage {
  switch (name) {
    case '$set':
    case '$addFields':
      return setStage(name, argument);
    case '$unset':
      return unsetStage(argument);
    case '$project':
      if (!isDocument(argument)) throw new ServerError(15_969, '$project specification must be an object');
      if (argument.size === 0)
        throw new ServerError(51_272, 'projection specification must have at least one field');
      return compileProjection(argument);
    case '$replaceWith':
      return replaceStage(argument);
    case '$replaceRoot':
      return replaceStage(newRootOf(argument));
    default:
      throw new NotSimulatedError(`the stage ${name}`);
  }
}

const ofStage = (apply: Stage['apply']): Stage => ({ apply, isPlainInclusion: false });

function setStage(name: string, argument: Value): Stage {
  if (!isDocument(argument)) throw new ServerError(40_272, `${name} specification stage must be an object`);
  const tree = new FieldTree(IN_SET);
  addComputed(tree, argument, '');
  return ofStage((document, at) => tree.withComputed(document, at));
}

/** The fields of an object that is no expression are added one by one. */
function addComputed(tree: FieldTree, fields: DocumentValue, prefix: string): void {
  for (const [name, value] of fields) {
    const path = `${prefix}${name}`;
    if (!isDocument(value) || startsWithOperator(value)) tree.add(path, compile(value));
    else if (value.size === 0) throw new ServerError(40_180, `an empty object is not a valid value: ${path}`);
    else addComputed(tree, value, `${path}.`);
  }
}

function unsetStage(argument: Value): Stage {
  const paths = isArray(argument) ? argument : [argument];
  if (paths.length === 0)
    throw new ServerError(
      31_119,
      '$unset specification must be a string or an array with at least one field',
    );
  const tree = new FieldTree(IN_PROJECTION);
  for (const path of paths) {
    if (typeof path !== 'string') {
      throw new ServerError(
        isArray(argument) ? 31_120 : 31_002,
        '$unset specification must be a string or an array',
      );
    }
    tree.add(path, 'listed');
  }
  return ofStage((document) => tree.excluding(document));
}

function replaceStage(expression: Value): Stage {
  const evaluation = compile(expression);
  return ofStage((_, at) => {
    const document = evaluation(at);
    if (!isDocument(document)) {
      throw new ServerError(
        40_228,
        `'newRoot' expression must evaluate to an object, but got ${typeNameOf(document)}`,
      );
    }
    return document;
  });
}

function newRootOf(argument: Value): Value {
  if (!isDocument(argument)) throw new ServerError(40_229, '$replaceRoot specification must be an object');
  const root = argument.get('newRoot');
  if (root === undefined) throw new ServerError(40_231, 'no newRoot specified for the $replaceRoot stage');
  if (argument.size > 1) throw new ServerError(40_415, 'unknown field in $replaceRoot');
  return root;
}
