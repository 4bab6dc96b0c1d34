import { DateValue, isArray, isDocument } from './values/bson-value.js';
import type { ArrayValue, DocumentValue, Value } from './values/bson-value.js';
import { Parameter, Scope } from './operators/compiler.js';
import type { Environment, Evaluation, OperatorCompiler, ParameterValue } from './operators/compiler.js';
import { Shapes } from './shapes.js';
import { checkName, compileParameter, compilePath } from './field-paths.js';
import { ACCUMULATION } from './operators/accumulation.js';
import { ARITHMETIC } from './operators/arithmetic.js';
import { ARRAYS } from './operators/arrays.js';
import { CONVERSION } from './operators/conversion.js';
import { ITERATION } from './operators/iteration.js';
import { LOGIC } from './operators/logic.js';
import { OBJECTS } from './operators/objects.js';
import { SETS } from './operators/sets.js';
import { STRINGS } from './operators/strings.js';
import { NotSimulatedError, ServerError } from './errors/server-error.js';

const OPERATORS: ReadonlyMap<string, OperatorCompiler> = new Map(
  [ACCUMULATION, ARITHMETIC, ARRAYS, CONVERSION, ITERATION, LOGIC, OBJECTS, SETS, STRINGS].flatMap((group) =>
    Object.entries(group),
  ),
);

export const EXPRESSION_OPERATORS: readonly string[] = [...OPERATORS.keys()].sort();

/**
 * Compiles an expression into closures. Most mistakes in an expression are reported now, before an evaluation, as on a
 * server.
 */
export function compile(expression: Value, scope: Scope = Scope.EMPTY): Evaluation {
  if (typeof expression === 'string') {
    return expression.startsWith('$') ? compilePath(expression, scope) : () => expression;
  }
  if (isArray(expression)) return compileArray(expression, scope);
  if (isDocument(expression)) return compileObject(expression, scope);
  if ((expression as unknown) instanceof Parameter)
    return compileParameter(expression as unknown as Parameter);
  return () => expression;
}

function compileArray(expressions: ArrayValue, scope: Scope): Evaluation {
  const elements = expressions.map((each) => compile(each, scope));
  return (at) => elements.map((element) => element(at) ?? null);
}

function compileObject(expression: DocumentValue, scope: Scope): Evaluation {
  for (const [name, argument] of expression) {
    if (!name.startsWith('$')) break;
    if (expression.size !== 1) {
      throw new ServerError(15_983, 'An object representing an expression must have exactly one field');
    }
    const operator = OPERATORS.get(name);
    if (operator === undefined) throw new NotSimulatedError(`the operator ${name}`);
    return operator(argument, scope, compile);
  }
  return compileFields(expression, scope);
}

function compileFields(expression: DocumentValue, scope: Scope): Evaluation {
  const fields: (readonly [string, Evaluation])[] = [];
  for (const [name, value] of expression) {
    checkName(name);
    if (name.includes('.')) throw new ServerError(16_412, "FieldPath field names may not contain '.'.");
    fields.push([name, compile(value, scope)]);
  }
  return (at) => {
    // A field without a value keeps its position, because a later stage can give it a value.
    const document = new Map<string, Value | undefined>();
    for (const [name, evaluation] of fields) document.set(name, evaluation(at));
    return document as DocumentValue;
  };
}

export const environmentOf = (
  root: DocumentValue,
  nowMs: number,
  parameters: readonly ParameterValue[] = [],
): Environment => ({ root, now: new DateValue(BigInt(nowMs)), slots: [], parameters });

const shapes = new Shapes('expression', compile);

/** Compiles an expression without outer variables, or reuses the closures of an earlier one that had the same shape. */
export function compileOnce(expression: Value): Evaluation {
  const { compiled, parameters } = shapes.of(expression);
  return (at) => {
    at.parameters = parameters;
    return compiled(at);
  };
}
