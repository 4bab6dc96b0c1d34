import {
  DateValue,
  Decimal,
  Double,
  OtherValue,
  isArray,
  isDocument,
  presentFields,
} from '../server/values.js';
import type { DocumentValue, Value } from '../server/values.js';
import { decimalText } from '../server/values/decimal.js';

/**
 * Whether two values have the same bytes in BSON. 1 as an int and 1 as a double are different values. The scopes of
 * JavaScript values are not compared.
 */
export function isIdentical(a: Value | undefined, b: Value | undefined): boolean {
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (isArray(a)) {
    return isArray(b) && a.length === b.length && a.every((value, index) => isIdentical(value, b[index]));
  }
  if (isDocument(a)) return isDocument(b) && areIdenticalDocuments(a, b);
  if (a instanceof DateValue) return b instanceof DateValue && a.ms === b.ms;
  if (a instanceof Double) return b instanceof Double && Object.is(a.value, b.value);
  if (a instanceof Decimal) return b instanceof Decimal && decimalText(a) === decimalText(b);
  return (
    a instanceof OtherValue &&
    b instanceof OtherValue &&
    a.type === b.type &&
    a.parts.length === b.parts.length &&
    a.parts.every((part, index) => part === b.parts[index])
  );
}

function areIdenticalDocuments(a: DocumentValue, b: DocumentValue): boolean {
  const others = presentFields(b);
  for (const [name, value] of presentFields(a)) {
    const next = others.next();
    if (next.done === true || next.value[0] !== name || !isIdentical(value, next.value[1])) return false;
  }
  return others.next().done === true;
}
