import { Decimal, Double, intOrLong } from '../values/bson-value.js';
import type { NumberValue, Value } from '../values/bson-value.js';
import { NotSimulatedError } from '../errors/server-error.js';
import { DECIMAL_ZERO, addDecimals, exactDecimal, rounded } from '../values/decimal.js';

/** The first double that is too large for a long. */
const BEYOND_LONG = 2 ** 63;

/**
 * A sum as `$sum` and `$add` compute it, in two doubles: `#sum`, and the part that its roundings have lost (`#lost`).
 * Together they hold a sum of ints and longs exactly. A double result is `#sum` alone, so it depends on the order of
 * the numbers.
 */
export class ExactSum {
  #hasLong = false;
  #hasDouble = false;
  #hasDecimal = false;
  #sum = 0;
  #lost = 0;
  /** The sum without corrections, which is right for infinite numbers and NaN. */
  #uncorrected = 0;
  #decimals = DECIMAL_ZERO;

  add(value: NumberValue): void {
    if (value instanceof Decimal) {
      this.#hasDecimal = true;
      this.#decimals = addDecimals(this.#decimals, value);
    } else if (value instanceof Double) {
      this.#hasDouble = true;
      this.#addDouble(value.value);
    } else if (typeof value === 'bigint') {
      this.#hasLong = true;
      this.#addLong(value);
    } else this.#addDouble(value);
  }

  /** A double cannot hold every long exactly, so the long is added in two parts. */
  #addLong(value: bigint): void {
    const high = (value / 2n ** 32n) * 2n ** 32n;
    this.#addDouble(Number(value - high));
    this.#addDouble(Number(high));
  }

  #addDouble(value: number): void {
    this.#uncorrected += value;
    const [corrected, remainder] = addToLarger(value, this.#lost);
    const [sum, lost] = addExactly(this.#sum, corrected);
    this.#sum = sum;
    this.#lost = remainder + lost;
  }

  result(): Value {
    if (this.#hasDecimal) return this.#decimalResult();
    const exact = this.#hasDouble ? undefined : this.#roundedToLong();
    if (exact === undefined) return new Double(this.#doubleResult());
    return this.#hasLong ? exact : intOrLong(exact);
  }

  /** The sum as the ms of a date; `undefined` if it is out of range, except for sums that wrap as on a server. */
  rounded(): bigint | undefined {
    if (this.#hasDecimal) throw new NotSimulatedError('a date and a decimal in one sum');
    return this.#roundedToLong();
  }

  /** As on a server: rounds `#sum` first, then rounds the rest and adds it. */
  #roundedToLong(): bigint | undefined {
    if (!this.#fitsLong()) return undefined;
    const first = roundHalfAway(this.#sum);
    const exact = BigInt(first) + BigInt(roundHalfAway(this.#sum - first + this.#lost));
    // Wraps a sum that is out of range. Such a sum can pass `#fitsLong`: for example, −2^63 with −0.5 lost passes, and
    // is rounded to −2^63 − 1.
    return BigInt.asIntN(64, exact);
  }

  #fitsLong(): boolean {
    if (this.#sum === BEYOND_LONG) return this.#lost < -0.5;
    if (this.#sum === -BEYOND_LONG) return this.#lost >= -0.5;
    return Math.abs(this.#sum) < BEYOND_LONG;
  }

  #doubleResult(): number {
    return Number.isNaN(this.#sum) ? this.#uncorrected : this.#sum;
  }

  #decimalResult(): Decimal {
    const plain = this.#doubleResult();
    if (!Number.isFinite(plain)) return addDecimals(this.#decimals, exactDecimal(plain));
    const numbers = addDecimals(rounded(exactDecimal(this.#sum)), rounded(exactDecimal(this.#lost)));
    return addDecimals(numbers, this.#decimals);
  }
}

const roundHalfAway = (value: number): number => {
  const size = Math.abs(value);
  const rounded = size - Math.trunc(size) >= 0.5 ? Math.trunc(size) + 1 : Math.trunc(size);
  return value < 0 ? -rounded : rounded;
};

/** The rounded sum, and what the rounding has lost. The loss is exact if |a| >= |b|, and may be inexact otherwise. */
function addToLarger(a: number, b: number): readonly [number, number] {
  const sum = a + b;
  return [sum, b - (sum - a)];
}

/** The rounded sum, and what the rounding has lost. */
function addExactly(a: number, b: number): readonly [number, number] {
  const sum = a + b;
  const ofA = sum - b;
  const ofB = sum - ofA;
  return [sum, a - ofA + (b - ofB)];
}
