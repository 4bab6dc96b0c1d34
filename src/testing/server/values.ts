// Folder `server`: what one member of the simulated replica set computes: values, expressions, updates, queries and
// projections, as a real server computes them. This file exports what other folders need of the values.

export type { DocumentValue, NumberValue, Value } from './values/bson-value.js';
export {
  DateValue,
  Decimal,
  Double,
  OtherValue,
  isArray,
  isDocument,
  isNumber,
  startsWithOperator,
} from './values/bson-value.js';
export { compareStrings, compareValues, presentFields } from './values/comparison.js';
export { fromDriver, sizeOf, toDriver } from './values/driver-values.js';
