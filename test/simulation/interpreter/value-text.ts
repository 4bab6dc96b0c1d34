import {
  DateValue,
  Decimal,
  Double,
  OtherValue,
  isArray,
  isDocument,
} from '../../../src/testing/server/values/bson-value.js';
import type { Value } from '../../../src/testing/server/values/bson-value.js';
import { decimalText } from '../../../src/testing/server/values/decimal.js';

/** A value as text that shows the types and the order of the fields. Two values have the same text only if they agree. */
export function textOf(value: Value | undefined): string {
  if (value === undefined) return 'missing';
  if (value === null || typeof value === 'boolean' || typeof value === 'number') return String(value);
  if (typeof value === 'bigint') return `${value}n`;
  if (typeof value === 'string') return JSON.stringify(value);
  if (value instanceof Double) return `double ${Object.is(value.value, -0) ? '-0' : value.value}`;
  if (value instanceof DateValue) return `date ${value.ms}`;
  if (value instanceof Decimal) return `decimal ${decimalText(value)}`;
  if (value instanceof OtherValue) return `${value.type}(${value.parts.join()})`;
  if (isArray(value)) return `[${value.map(textOf).join(', ')}]`;
  if (!isDocument(value)) throw new TypeError('no value');
  return `{${[...value].map(([name, each]) => `${JSON.stringify(name)}: ${textOf(each)}`).join(', ')}}`;
}
