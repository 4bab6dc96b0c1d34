import { isArray, isDocument, isNullish, isTrue, typeNameOf } from '../values/bson-value.js';
import type { ArrayValue, Value } from '../values/bson-value.js';
import type { OperatorCompiler, Operators } from './compiler.js';
import { NotSimulatedError, ServerError } from '../errors/server-error.js';
import { fieldsOf, requiredOf } from './arguments.js';
import { variableName } from './logic.js';

function listOf(operator: string, code: number, value: Value | undefined): ArrayValue | null {
  if (isNullish(value)) return null;
  if (!isArray(value))
    throw new ServerError(code, `input to ${operator} must be an array not ${typeNameOf(value)}`);
  return value;
}

function elementName(given: Value | undefined): string {
  if (given === undefined) return 'this';
  if (typeof given !== 'string') throw new NotSimulatedError('a name that is no string');
  return variableName(given);
}

const map: OperatorCompiler = (argument, scope, compile) => {
  if (!isDocument(argument)) throw new ServerError(16_878, '$map only supports an object as its argument');
  const given = fieldsOf('$map', argument, ['input', 'as', 'in'], 16_879);
  const input = requiredOf('$map', given, 'input', 16_880);
  const body = requiredOf('$map', given, 'in', 16_882);
  const inner = scope.with(elementName(given.get('as')));
  const [source, result] = [compile(input, scope), compile(body, inner)];
  return (at) => {
    const list = listOf('$map', 16_883, source(at));
    if (list === null) return null;
    return list.map((element) => {
      at.slots[inner.slot] = element;
      return result(at) ?? null;
    });
  };
};

const filter: OperatorCompiler = (argument, scope, compile) => {
  if (!isDocument(argument)) throw new ServerError(28_646, '$filter only supports an object as its argument');
  const given = fieldsOf('$filter', argument, ['input', 'as', 'cond', 'limit'], 28_647);
  const input = requiredOf('$filter', given, 'input', 28_648);
  const condition = requiredOf('$filter', given, 'cond', 28_650);
  if (given.has('limit')) throw new NotSimulatedError('$filter with a limit');
  const inner = scope.with(elementName(given.get('as')));
  const [source, test] = [compile(input, scope), compile(condition, inner)];
  return (at) => {
    const list = listOf('$filter', 28_651, source(at));
    if (list === null) return null;
    return list.filter((element) => {
      at.slots[inner.slot] = element;
      return isTrue(test(at));
    });
  };
};

const reduce: OperatorCompiler = (argument, scope, compile) => {
  if (!isDocument(argument)) throw new ServerError(40_075, '$reduce requires an object as an argument');
  const given = fieldsOf('$reduce', argument, ['input', 'initialValue', 'in'], 40_076);
  const [input, initial, body] = [given.get('input'), given.get('initialValue'), given.get('in')];
  if (input === undefined) throw new ServerError(40_077, "$reduce requires 'input' to be specified");
  if (initial === undefined) throw new ServerError(40_078, "$reduce requires 'initialValue' to be specified");
  if (body === undefined) throw new ServerError(40_079, "$reduce requires 'in' to be specified");
  const inner = scope.with('this').with('value');
  const [source, first, step] = [compile(input, scope), compile(initial, scope), compile(body, inner)];
  return (at) => {
    const list = listOf('$reduce', 40_080, source(at));
    if (list === null) return null;
    let value = first(at);
    for (const element of list) {
      at.slots[inner.slot - 1] = element;
      at.slots[inner.slot] = value;
      value = step(at);
    }
    return value;
  };
};

export const ITERATION: Operators = { $map: map, $filter: filter, $reduce: reduce };
