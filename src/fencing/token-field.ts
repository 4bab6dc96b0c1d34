import type { Document } from 'mongodb';
import { orElse, outOfRange, wrongType } from '../options/checks.js';

const DEFAULT_FIELD = 'fencingToken';

/** Refuses a path that `$set` cannot create, and a path in `_id`. */
export function parseField(given: string | undefined): string {
  const field: unknown = orElse(given, DEFAULT_FIELD);
  if (typeof field !== 'string') throw wrongType('field', 'a string', field);
  const steps = field.split('.');
  const isPath = steps.every((step) => step !== '' && !step.startsWith('$') && !step.includes('\0'));
  if (!isPath || steps[0] === '_id') throw outOfRange('field', 'the path of a field other than _id', field);
  return field;
}

/**
 * Selects the documents whose stored token is missing or not above `token`.
 *
 * A value that is not a number never passes, because it does not tell how new the last write was. In a query, `$lte`
 * with a number matches only numbers, and never NaN. `$lte` also checks the elements of arrays, so arrays are excluded.
 * `$expr` is no alternative: in `$expr`, null and NaN come before all numbers, and an upsert does not accept `$expr`.
 *
 * A parent of the field must be missing or an object. In an array, the path would select fields of the elements. In any
 * other value, the operator `$set` cannot create the field, and the stage `$set` would replace the value.
 */
export function notAbove(field: string, token: number): Document {
  const steps = field.split('.');
  const parents = steps.slice(1).map((_, index) => steps.slice(0, index + 1).join('.'));
  return {
    $and: [
      ...parents.map((parent) => missingOr(parent, { $type: 'object' })),
      missingOr(field, { $lte: token }),
    ],
  };
}

const missingOr = (path: string, condition: Document): Document => ({
  $or: [{ [path]: { $exists: false } }, { [path]: { ...condition, $not: { $type: 'array' } } }],
});

/**
 * Extends the update, so that it also stores the token. The token is stored as a double, which is exact, because tokens
 * are below 2^53. A client reads a double as a number with any `promoteLongs` and `useBigInt64`.
 */
export function storing(update: unknown, field: string, token: number): Document | Document[] {
  if (Array.isArray(update)) {
    const stages: readonly unknown[] = update;
    if (stages.length === 0) throw wrongType('update', 'at least one stage', update);
    for (const stage of stages) refuseToWrite(field, writtenByStage(entriesOf(stage)));
    return [...(stages as readonly Document[]), { $set: { [field]: token } }];
  }
  const operators = entriesOf(update);
  if (operators.length === 0) {
    throw wrongType('update', 'at least one operator, as { $set: {} }', update);
  }
  if (!operators.every(([operator]) => operator.startsWith('$'))) {
    throw wrongType('update', 'operators or a pipeline, because a replacement loses the token', update);
  }
  for (const [operator, fields] of operators) {
    // The driver also accepts a Map. But `refuseToWrite` does not see the entries of a Map, and the new `$set` would
    // lose them.
    const isObject = typeof fields === 'object' && fields !== null;
    if (!isObject || fields instanceof Map) throw wrongType(`update.${operator}`, 'a plain object', fields);
  }
  refuseToWrite(field, operators.flatMap(writtenByOperator));
  const { $set, ...others } = update as { $set?: Document };
  return { ...others, $set: { ...$set, [field]: token } };
}

function refuseToWrite(field: string, paths: readonly string[]): void {
  const path = paths.find((each) => isWithin(each, field) || isWithin(field, each));
  if (path === undefined) return;
  throw new TypeError(`update must not write ${path}: the token is stored in ${field}, by this function`);
}

const isWithin = (path: string, outer: string): boolean => path === outer || path.startsWith(`${outer}.`);

type Entry = readonly [name: string, value: unknown];

const entriesOf = (value: unknown): readonly Entry[] => {
  if (typeof value !== 'object' || value === null)
    throw wrongType('update', 'operators or a pipeline', value);
  return Object.entries(value);
};

const fieldsOf = (value: unknown): readonly Entry[] =>
  typeof value === 'object' && value !== null ? Object.entries(value) : [];

/** The paths that one operator writes. `$rename` also writes its targets. */
const writtenByOperator = ([operator, fields]: Entry): readonly string[] =>
  fieldsOf(fields).flatMap(([path, to]) =>
    operator === '$rename' && typeof to === 'string' ? [path, to] : [path],
  );

/**
 * The paths that a stage sets or removes by name. A stage that replaces the whole document names no path, and needs no
 * check: the `$set` that `storing` appends puts the token into the new document.
 */
const writtenByStage = (stage: readonly Entry[]): readonly string[] =>
  stage.flatMap(([name, value]) => {
    switch (name) {
      case '$set':
      case '$addFields':
        return fieldsOf(value).map(([path]) => path);
      case '$unset':
        return [value].flat().filter((path) => typeof path === 'string');
      case '$project':
        return fieldsOf(value).flatMap(([path, shown]) => (shown === 1 || shown === true ? [] : [path]));
      default:
        return [];
    }
  });
