import {
  Double,
  Decimal,
  OtherValue,
  isArray,
  isDocument,
  isTrue,
  startsWithOperator,
  typeNameOf,
} from './values/bson-value.js';
import type { ArrayValue, DocumentValue, Value } from './values/bson-value.js';
import { compareValues, typeRank } from './values/comparison.js';
import type { Environment } from './operators/compiler.js';
import { compileOnce, environmentOf } from './expressions.js';
import { patternOf, regularExpression } from './operators/strings.js';
import { NotSimulatedError, ServerError } from './errors/server-error.js';

type Predicate = (document: DocumentValue, at: Environment) => boolean;

/** A condition on one value: that of a field, or an element of an array. `undefined` stands for a missing value. */
type Test = (element: Value | undefined) => boolean;

const BAD_VALUE = 2;

const predicates = new WeakMap<object, Predicate>();

export function matches(document: DocumentValue, filter: DocumentValue, nowMs: number): boolean {
  let predicate = predicates.get(filter);
  if (predicate === undefined) predicates.set(filter, (predicate = compileFilter(filter)));
  return predicate(document, environmentOf(document, nowMs));
}

function compileFilter(filter: Value): Predicate {
  if (!isDocument(filter)) throw new ServerError(BAD_VALUE, '$or/$and/$nor entries need to be full objects');
  const conditions = [...filter].map(([name, value]) =>
    name.startsWith('$') ? compileClause(name, value) : compileField(name, value),
  );
  return (document, at) => conditions.every((condition) => condition(document, at));
}

function compileClause(operator: string, argument: Value): Predicate {
  switch (operator) {
    case '$and': {
      const parts = clausesOf(operator, argument);
      return (document, at) => parts.every((part) => part(document, at));
    }
    case '$or': {
      const parts = clausesOf(operator, argument);
      return (document, at) => parts.some((part) => part(document, at));
    }
    case '$nor': {
      const parts = clausesOf(operator, argument);
      return (document, at) => !parts.some((part) => part(document, at));
    }
    case '$expr': {
      const evaluation = compileOnce(argument);
      return (_, at) => isTrue(evaluation(at));
    }
    case '$comment':
      return () => true;
    default:
      throw new NotSimulatedError(`the query operator ${operator}`);
  }
}

function clausesOf(operator: string, argument: Value): readonly Predicate[] {
  if (!isArray(argument) || argument.length === 0) {
    throw new ServerError(BAD_VALUE, `${operator} must be a nonempty array`);
  }
  return argument.map(compileFilter);
}

function compileField(path: string, value: Value): Predicate {
  const names = path.split('.');
  if (!isDocument(value) || !startsWithOperator(value)) return anyElement(names, equalTo(value));
  return compileOperators(names, value);
}

function compileOperators(names: readonly string[], operators: DocumentValue): Predicate {
  const conditions = [...operators].map(([operator, argument]) => compileOperator(names, operator, argument));
  return (document, at) => conditions.every((condition) => condition(document, at));
}

function compileOperator(names: readonly string[], operator: string, argument: Value): Predicate {
  switch (operator) {
    case '$eq':
      return anyElement(names, equalTo(argument));
    case '$ne':
      return not(anyElement(names, equalTo(argument)));
    case '$gt':
    case '$gte':
    case '$lt':
    case '$lte':
      return anyElement(names, orderedTest(operator, argument));
    case '$in':
      return anyElement(names, oneOf(operator, argument));
    case '$nin':
      return not(anyElement(names, oneOf(operator, argument)));
    case '$exists': {
      const exists = anyElement(names, (element) => element !== undefined);
      return isTrue(argument) ? exists : not(exists);
    }
    case '$type':
      return anyElement(names, ofType(argument));
    case '$regex':
      return anyElement(names, matching(argument));
    case '$not':
      return negation(names, argument);
    default:
      throw new NotSimulatedError(`the query operator ${operator}`);
  }
}

const not =
  (predicate: Predicate): Predicate =>
  (document, at) =>
    !predicate(document, at);

function negation(names: readonly string[], argument: Value): Predicate {
  const pattern = patternOf(argument);
  if (pattern !== undefined) return not(anyElement(names, testOf(pattern)));
  if (!isDocument(argument) || argument.size === 0)
    throw new ServerError(BAD_VALUE, '$not needs a regex or a document');
  if (!startsWithOperator(argument)) throw new ServerError(BAD_VALUE, 'unknown operator in $not');
  return not(compileOperators(names, argument));
}

const isNaN = (value: Value | undefined): boolean =>
  (value instanceof Double && Number.isNaN(value.value)) ||
  (value instanceof Decimal && value.kind === 'nan');

/** Null also selects documents without the field. A pattern also selects the texts that it matches. */
function equalTo(value: Value): Test {
  const pattern = patternOf(value);
  if (value === null) return (element) => element === null || element === undefined;
  const isEqual: Test = (element) => element !== undefined && compareValues(element, value) === 0;
  return pattern === undefined ? isEqual : (element) => isEqual(element) || testOf(pattern)(element);
}

/**
 * `$gt`, `$gte`, `$lt` and `$lte` compare only values whose types have the same rank, with two exceptions: an argument
 * `minKey` or `maxKey` is compared with all values, and an argument null equals a missing value. NaN is neither less
 * nor greater than a number.
 */
function orderedTest(operator: '$gt' | '$gte' | '$lt' | '$lte', value: Value): Test {
  const includesEqual = operator === '$gte' || operator === '$lte';
  const sign = operator === '$gt' || operator === '$gte' ? 1 : -1;
  if (value === null) return includesEqual ? equalTo(null) : () => false;
  if (value instanceof OtherValue && (value.type === 'minKey' || value.type === 'maxKey')) {
    const isOutside = (value.type === 'minKey') === (sign === 1);
    return (element) => {
      if (element !== undefined && typeRank(element) === typeRank(value)) return includesEqual;
      return isOutside;
    };
  }
  if (patternOf(value) !== undefined)
    throw new ServerError(BAD_VALUE, `Can't have RegEx as arg to ${operator}.`);
  const rank = typeRank(value);
  return (element) => {
    if (element === undefined || typeRank(element) !== rank) return false;
    if (isNaN(element) || isNaN(value)) return includesEqual && isNaN(element) && isNaN(value);
    const order = compareValues(element, value);
    return order === 0 ? includesEqual : order === sign;
  };
}

function oneOf(operator: string, argument: Value): Test {
  if (!isArray(argument)) throw new ServerError(BAD_VALUE, `${operator} needs an array`);
  const strings = new Set<Value | undefined>(argument.filter((each) => typeof each === 'string'));
  if (strings.size === argument.length) {
    return (element) => strings.has(element instanceof OtherValue ? symbolText(element) : element);
  }
  const tests = argument.map((value) => {
    if (isDocument(value) && startsWithOperator(value))
      throw new ServerError(BAD_VALUE, `cannot nest $ under ${operator}`);
    return equalTo(value);
  });
  return (element) => tests.some((test) => test(element));
}

/** The text of a symbol; `undefined` for any other value. A symbol equals the string of the same text. */
const symbolText = ({ type, parts }: OtherValue): string | undefined =>
  type === 'symbol' ? String(parts[0]) : undefined;

function ofType(argument: Value): Test {
  const names = isArray(argument) ? argument : [argument];
  for (const name of names) {
    if (typeof name !== 'string') throw new NotSimulatedError('$type with the number of a type');
    if (!TYPE_NAMES.has(name)) throw new ServerError(BAD_VALUE, `Unknown type name alias: ${name}`);
  }
  return (element) => {
    if (element === undefined) return false;
    const type = typeNameOf(element);
    return names.includes(type) || (names.includes('number') && NUMBER_TYPES.includes(type));
  };
}

const NUMBER_TYPES: readonly string[] = ['int', 'long', 'double', 'decimal'];

const TYPE_NAMES: ReadonlySet<string> = new Set([
  ...NUMBER_TYPES,
  ...[
    'number',
    'string',
    'object',
    'array',
    'binData',
    'undefined',
    'objectId',
    'bool',
    'date',
    'null',
    'regex',
  ],
  ...['dbPointer', 'javascript', 'symbol', 'javascriptWithScope', 'timestamp', 'minKey', 'maxKey'],
]);

function matching(argument: Value): Test {
  const pattern = typeof argument === 'string' ? regularExpression(argument, '') : patternOf(argument);
  if (pattern === undefined) throw new ServerError(BAD_VALUE, '$regex has to be a string');
  return testOf(pattern, argument);
}

const testOf =
  (pattern: RegExp, itself?: Value): Test =>
  (element) => {
    if (typeof element === 'string') return pattern.test(element);
    if (!(element instanceof OtherValue)) return false;
    if (element.type === 'symbol') return pattern.test(String(element.parts[0]));
    return element.type === 'regex' && itself !== undefined && isSamePattern(element, pattern);
  };

const isSamePattern = ({ parts }: OtherValue, { source, flags }: RegExp): boolean =>
  parts[0] === source && parts[1] === flags;

/** Whether the value at the path meets the condition, or, if the value is an array, one of its elements. */
const anyElement =
  (names: readonly string[], test: Test): Predicate =>
  (document) =>
    isAny(document, names, 0, test);

function isAny(document: DocumentValue, names: readonly string[], from: number, test: Test): boolean {
  const value = document.get(names[from] ?? '');
  if (from === names.length - 1) return isLeaf(value, test);
  if (isDocument(value)) return isAny(value, names, from + 1, test);
  return isArray(value) ? isAnyWithin(value, names, from + 1, test) : test(undefined);
}

const isLeaf = (value: Value | undefined, test: Test): boolean =>
  test(value) || (isArray(value) && value.some(test));

/**
 * In an array, a path goes on in each element that is an object. If the next name is a number, the path also goes on in
 * the element at that index.
 */
function isAnyWithin(array: ArrayValue, names: readonly string[], from: number, test: Test): boolean {
  if (array.some((element) => isDocument(element) && isAny(element, names, from, test))) return true;
  const name = names[from] ?? '';
  const element = /^\d+$/.test(name) ? array[Number(name)] : undefined;
  if (element === undefined) return false;
  // The path ends at this index. If the element there is an array itself, its own elements are not tested.
  if (from === names.length - 1) return test(element);
  if (isDocument(element)) return isAny(element, names, from + 1, test);
  return isArray(element) && isAnyWithin(element, names, from + 1, test);
}
