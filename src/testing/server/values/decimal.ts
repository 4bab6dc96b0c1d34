import { Decimal } from './bson-value.js';

/** The most digits of the server's decimals. */
const DIGITS = 34;

export const DECIMAL_ZERO: Decimal = new Decimal('finite', false);
export const DECIMAL_NAN: Decimal = new Decimal('nan', false);

export function parseDecimal(text: string): Decimal {
  const found = /^([-+]?)(?:(Infinity|inf)|(NaN)|(\d*)(?:\.(\d*))?(?:E([-+]?\d+))?)$/i.exec(text);
  if (found === null) throw new Error(`no decimal: ${text}`);
  const [, sign = '', infinity, nan, whole = '', fraction = '', exponent = '0'] = found;
  if (nan !== undefined) return DECIMAL_NAN;
  const isNegative = sign === '-';
  if (infinity !== undefined) return new Decimal('infinite', isNegative);
  const scale = Number(exponent) - fraction.length;
  return new Decimal('finite', isNegative, BigInt(`${whole}${fraction}`), scale);
}

/** The exact value of a number as a decimal. It may have more digits than the server stores. */
export function exactDecimal(value: number | bigint): Decimal {
  if (typeof value === 'bigint') return signed(value, 0);
  if (Number.isNaN(value)) return DECIMAL_NAN;
  if (!Number.isFinite(value)) return new Decimal('infinite', value < 0);
  let scaled = value;
  let halvings = 0;
  while (!Number.isInteger(scaled)) {
    scaled *= 2;
    halvings += 1;
  }
  // With h halvings, the value is scaled / 2^h = scaled × 5^h / 10^h.
  return signed(BigInt(scaled) * 5n ** BigInt(halvings), -halvings);
}

const signed = (value: bigint, exponent: number): Decimal =>
  new Decimal('finite', value < 0n, value < 0n ? -value : value, exponent);

const signedCoefficient = ({ isNegative, coefficient }: Decimal): bigint =>
  isNegative ? -coefficient : coefficient;

/** Compares by value. NaN is less than every number and equal to itself. */
export function compareDecimals(a: Decimal, b: Decimal): -1 | 0 | 1 {
  const [rankA, rankB] = [rankOf(a), rankOf(b)];
  if (rankA !== rankB) return rankA < rankB ? -1 : 1;
  if (a.kind !== 'finite') return 0;
  const [x, y] = aligned(a, b);
  return x < y ? -1 : x > y ? 1 : 0;
}

function rankOf({ kind, isNegative }: Decimal): number {
  if (kind === 'nan') return 0;
  if (kind === 'infinite') return isNegative ? 1 : 3;
  return 2;
}

/** The signed coefficients of both numbers, scaled to their lower exponent, and that exponent. */
function aligned(a: Decimal, b: Decimal): readonly [bigint, bigint, number] {
  const exponent = Math.min(a.exponent, b.exponent);
  const scaled = (value: Decimal): bigint =>
    signedCoefficient(value) * 10n ** BigInt(value.exponent - exponent);
  return [scaled(a), scaled(b), exponent];
}

export function addDecimals(a: Decimal, b: Decimal): Decimal {
  if (a.kind === 'nan' || b.kind === 'nan') return DECIMAL_NAN;
  if (a.kind === 'infinite' && b.kind === 'infinite') return a.isNegative === b.isNegative ? a : DECIMAL_NAN;
  if (a.kind === 'infinite') return a;
  if (b.kind === 'infinite') return b;
  const [x, y, exponent] = aligned(a, b);
  return rounded(signed(x + y, exponent));
}

/** The nearest decimal with at most 34 digits. If two are equally near, the one with an even last digit. */
export function rounded(exact: Decimal): Decimal {
  const { isNegative, coefficient, exponent } = exact;
  const dropped = coefficient.toString().length - DIGITS;
  if (exact.kind !== 'finite' || dropped <= 0) return exact;
  const unit = 10n ** BigInt(dropped);
  const [kept, rest] = [coefficient / unit, coefficient % unit];
  const isUp = rest * 2n > unit || (rest * 2n === unit && kept % 2n === 1n);
  return rounded(new Decimal('finite', isNegative, kept + (isUp ? 1n : 0n), exponent + dropped));
}

export function doubleOf({ kind, isNegative, coefficient, exponent }: Decimal): number {
  if (kind === 'nan') return NaN;
  if (kind === 'infinite') return isNegative ? -Infinity : Infinity;
  return Number(`${isNegative ? '-' : ''}${coefficient.toString()}e${exponent}`);
}

export function truncated({ kind, isNegative, coefficient, exponent }: Decimal): bigint | undefined {
  if (kind !== 'finite') return undefined;
  const size = exponent >= 0 ? coefficient * 10n ** BigInt(exponent) : coefficient / 10n ** BigInt(-exponent);
  return isNegative ? -size : size;
}

/** The text of a decimal. It has an exponent if `exponent` is positive, or if its first digit stands below 10^-6. */
export function decimalText({ kind, isNegative, coefficient, exponent }: Decimal): string {
  const sign = isNegative ? '-' : '';
  if (kind === 'nan') return 'NaN';
  if (kind === 'infinite') return `${sign}Infinity`;
  const digits = coefficient.toString();
  const scientific = exponent + digits.length - 1;
  if (exponent > 0 || scientific < -6) {
    const fraction = digits.length > 1 ? `.${digits.slice(1)}` : '';
    return `${sign}${digits.slice(0, 1)}${fraction}E${scientific < 0 ? '' : '+'}${scientific}`;
  }
  if (exponent === 0) return sign + digits;
  const padded = digits.padStart(1 - exponent, '0');
  return `${sign}${padded.slice(0, exponent)}.${padded.slice(exponent)}`;
}

/** A text that two decimals share exactly if they have the same value. */
export function canonicalText(value: Decimal): string {
  if (value.kind !== 'finite') return decimalText(value);
  let [digits, exponent] = [signedCoefficient(value), value.exponent];
  if (exponent > 0) [digits, exponent] = [digits * 10n ** BigInt(exponent), 0];
  for (; exponent < 0 && digits % 10n === 0n; exponent += 1) digits /= 10n;
  return exponent === 0 ? String(digits) : `${String(digits)}e${String(exponent)}`;
}
