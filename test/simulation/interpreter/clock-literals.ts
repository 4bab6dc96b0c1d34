import { NOW } from '../../../src/protocol/expressions.js';

/**
 * The expression with a date in place of `$$NOW`, so that the real server evaluates it at a clock that a test chooses.
 * A literal stays as it is.
 */
export function atClock(expression: unknown, now: Date): unknown {
  if (expression === NOW) return now;
  if (Array.isArray(expression)) return expression.map((each) => atClock(each, now));
  if (typeof expression !== 'object' || expression === null || expression instanceof Date) return expression;
  if ('$literal' in expression || '_bsontype' in expression) return expression;
  return Object.fromEntries(Object.entries(expression).map(([name, each]) => [name, atClock(each, now)]));
}
