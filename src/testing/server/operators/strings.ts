import { OtherValue, isDocument, isNullish, typeNameOf } from '../values/bson-value.js';
import type { Value } from '../values/bson-value.js';
import { variadic } from './compiler.js';
import type { Evaluation, OperatorCompiler, Operators } from './compiler.js';
import { NotSimulatedError, ServerError } from '../errors/server-error.js';
import { fieldsOf } from './arguments.js';

function concatenation(operands: readonly Evaluation[]): Evaluation {
  return (at) => {
    let text = '';
    for (const operand of operands) {
      const part = operand(at);
      if (isNullish(part)) return null;
      if (typeof part !== 'string') {
        throw new ServerError(16_702, `$concat only supports strings, not ${typeNameOf(part)}`);
      }
      text += part;
    }
    return text;
  };
}

const regexMatch: OperatorCompiler = (argument, scope, compile) => {
  if (!isDocument(argument))
    throw new ServerError(51_103, '$regexMatch expects an object of named arguments');
  const given = fieldsOf('$regexMatch', argument, ['input', 'regex', 'options'], 31_024);
  const [input, pattern] = [given.get('input'), given.get('regex')];
  if (input === undefined) throw new ServerError(31_022, "$regexMatch requires 'input' parameter");
  if (pattern === undefined) throw new ServerError(31_023, "$regexMatch requires 'regex' parameter");
  if (given.has('options')) throw new NotSimulatedError('$regexMatch with options');
  if (typeof pattern !== 'string' || pattern.startsWith('$')) {
    throw new NotSimulatedError('$regexMatch with a pattern that is computed');
  }
  const source = compile(input, scope);
  const expression = regularExpression(pattern, '');
  return (at) => {
    const text = source(at);
    if (isNullish(text)) return false;
    if (typeof text !== 'string')
      throw new ServerError(51_104, "$regexMatch needs 'input' to be of type string");
    return expression.test(text);
  };
};

/**
 * Compiles the pattern of a query or an expression. The simple patterns that the library sends have the same meaning
 * in JavaScript.
 */
export function regularExpression(pattern: string, options: string): RegExp {
  if (/[^im]/.test(options)) throw new NotSimulatedError(`the options ${options} of a regular expression`);
  return new RegExp(pattern, options);
}

export const patternOf = (value: Value): RegExp | undefined =>
  value instanceof OtherValue && value.type === 'regex'
    ? regularExpression(String(value.parts[0]), String(value.parts[1]))
    : undefined;

export const STRINGS: Operators = {
  $concat: variadic('$concat', concatenation),
  $regexMatch: regexMatch,
};
