// Folder `operators`: the operators of expressions, one table for each group.

import { isDocument, isNullish, isTrue } from '../values/bson-value.js';
import type { Value } from '../values/bson-value.js';
import { areEqual, compareValues } from '../values/comparison.js';
import { MISSING, Parameter, binary, operandsOf, unary, variadic, withOperands } from './compiler.js';
import type { Compile, Evaluation, OperatorCompiler, Operators, Scope } from './compiler.js';
import { NotSimulatedError, ServerError } from '../errors/server-error.js';
import { fieldsOf, requiredOf } from './arguments.js';

const cond: OperatorCompiler = (argument, scope, compile) => {
  const [condition, then, otherwise] = isDocument(argument) ? namedBranches(argument) : branches(argument);
  const [test, yes, no] = [condition, then, otherwise].map((branch) => compile(branch, scope));
  return choice(test ?? MISSING, yes ?? MISSING, no ?? MISSING);
};

const choice =
  (test: Evaluation, yes: Evaluation, no: Evaluation): Evaluation =>
  (at) =>
    isTrue(test(at)) ? yes(at) : no(at);

function branches(argument: Value): readonly [Value, Value, Value] {
  const operands = operandsOf(argument);
  if (operands.length !== 3) throw new ServerError(16_020, 'Expression $cond takes exactly 3 arguments');
  return operands as readonly [Value, Value, Value];
}

function namedBranches(argument: ReadonlyMap<string, Value>): readonly [Value, Value, Value] {
  const given = fieldsOf('$cond', argument, ['if', 'then', 'else'], 17_083);
  const condition = requiredOf('$cond', given, 'if', 17_080);
  const then = requiredOf('$cond', given, 'then', 17_081);
  return [condition, then, requiredOf('$cond', given, 'else', 17_082)];
}

const switchOf: OperatorCompiler = (argument, scope, compile) => {
  if (!isDocument(argument)) throw new ServerError(40_060, '$switch requires an object as an argument');
  const given = fieldsOf('$switch', argument, ['branches', 'default'], 40_067);
  const cases = given.get('branches');
  if (!Array.isArray(cases)) throw new ServerError(40_061, '$switch expected an array for branches');
  const compiled = (cases as readonly Value[]).map((each) => branchOf(each, scope, compile));
  const otherwise = given.get('default');
  if (compiled.length === 0) throw new ServerError(40_068, '$switch requires at least one branch');
  const fallback: Evaluation =
    otherwise === undefined
      ? () => {
          throw new ServerError(
            40_066,
            '$switch could not find a matching branch, and no default was specified',
          );
        }
      : compile(otherwise, scope);
  return (at) => (compiled.find(([test]) => isTrue(test(at)))?.[1] ?? fallback)(at);
};

function branchOf(branch: Value, scope: Scope, compile: Compile): readonly [Evaluation, Evaluation] {
  if (!isDocument(branch)) throw new ServerError(40_062, '$switch expected each branch to be an object');
  const given = fieldsOf('$switch', branch, ['case', 'then'], 40_063);
  const [test, then] = [given.get('case'), given.get('then')];
  if (test === undefined)
    throw new ServerError(40_064, "$switch requires each branch have a 'case' expression");
  if (then === undefined)
    throw new ServerError(40_065, "$switch requires each branch have a 'then' expression");
  return [compile(test, scope), compile(then, scope)];
}

const bind: OperatorCompiler = (argument, scope, compile) => {
  if (!isDocument(argument)) throw new ServerError(16_874, '$let only supports an object as its argument');
  const given = fieldsOf('$let', argument, ['vars', 'in'], 16_875);
  const variables = requiredOf('$let', given, 'vars', 16_876);
  const body = requiredOf('$let', given, 'in', 16_877);
  if (!isDocument(variables)) throw new NotSimulatedError('$let with vars that are no object');
  let inner = scope;
  const first = scope.slot + 1;
  const values: Evaluation[] = [];
  for (const [name, value] of variables) {
    values.push(compile(value, scope));
    inner = inner.with(variableName(name));
  }
  const result = compile(body, inner);
  const [only = MISSING, ...others] = values;
  if (others.length === 0) {
    return (at) => {
      at.slots[first] = only(at);
      return result(at);
    };
  }
  return (at) => {
    // A value may have variables of its own, for example in a nested `$let`, which use the same slots. So no variable
    // is set before all values are computed: a later value would overwrite it.
    const computed = values.map((value) => value(at));
    for (const [index, value] of computed.entries()) at.slots[first + index] = value;
    return result(at);
  };
};

export function variableName(name: string): string {
  if (name === 'CURRENT') throw new NotSimulatedError('a new value for $$CURRENT');
  if (!/^[a-z\u0080-\uffff][\w\u0080-\uffff]*$/.test(name)) {
    const code = /^[a-z\u0080-\uffff]/.test(name) ? 16_868 : 16_867;
    throw new ServerError(code, `'${name}' is no valid name of a variable`);
  }
  return name;
}

const ifNull: OperatorCompiler = (argument, scope, compile) => {
  const operands = operandsOf(argument);
  if (operands.length < 2) throw new ServerError(1_257_300, '$ifNull needs at least two arguments');
  const evaluations = operands.map((operand) => compile(operand, scope));
  return (at) => {
    let value: Value | undefined;
    for (const evaluation of evaluations) {
      value = evaluation(at);
      if (!isNullish(value)) return value;
    }
    return value;
  };
};

export const LOGIC: Operators = {
  $and: variadic('$and', (operands) => (at) => {
    for (const operand of operands) if (!isTrue(operand(at))) return false;
    return true;
  }),
  $or: variadic('$or', (operands) => (at) => {
    for (const operand of operands) if (isTrue(operand(at))) return true;
    return false;
  }),
  $not: unary('$not', (value) => !isTrue(value)),
  $cond: cond,
  $switch: switchOf,
  $ifNull: ifNull,
  $let: bind,
  $literal: (argument, scope, compile) => {
    // `Shapes` caches compiled sources without their constants, so the argument may be a parameter.
    return isParameter(argument) ? compile(argument, scope) : () => argument;
  },
  $eq: binary('$eq', areEqual),
  $ne: binary('$ne', (a, b) => !areEqual(a, b)),
  $lt: binary('$lt', (a, b) => compareValues(a, b) < 0),
  $lte: binary('$lte', (a, b) => compareValues(a, b) <= 0),
  $gt: binary('$gt', (a, b) => compareValues(a, b) > 0),
  $gte: binary('$gte', (a, b) => compareValues(a, b) >= 0),
  $cmp: binary('$cmp', (a, b) => compareValues(a, b)),
  $allElementsTrue: withOperands('$allElementsTrue', 1, 1, ([list = MISSING]) => (at) => {
    return elementsOf('$allElementsTrue', 17_040, list(at)).every(isTrue);
  }),
  $anyElementTrue: withOperands('$anyElementTrue', 1, 1, ([list = MISSING]) => (at) => {
    return elementsOf('$anyElementTrue', 17_041, list(at)).some(isTrue);
  }),
};

const isParameter = (argument: unknown): boolean => argument instanceof Parameter;

function elementsOf(operator: string, code: number, value: Value | undefined): readonly Value[] {
  if (!Array.isArray(value)) throw new ServerError(code, `${operator}'s argument must be an array`);
  return value as readonly Value[];
}
