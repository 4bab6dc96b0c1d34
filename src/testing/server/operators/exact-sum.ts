import { Decimal, Double, intOrLong, isLong } from '../values/bson-value.js';
import type { NumberValue, Value } from '../values/bson-value.js';
import { NotSimulatedError } from '../errors/server-error.js';
import { DECIMAL_ZERO, addDecimals, exactDecimal, rounded } from '../values/decimal.js';

/**
 * A sum as `$sum` and `$add` compute it. Integers are added exactly. With doubles among them, the sum has about twice the digits
 * of a double, and is rounded at the end.
 */
export class ExactSum {
  #hasLong = false;
  #hasDouble = false;
  #hasDecimal = false;
  #integers = 0n;
  #sum = 0;
  #rest = 0;
  /** The plain sum: it tells what infinite numbers and NaN add up to. */
  #plain = 0;
  #decimals = DECIMAL_ZERO;

  add(value: NumberValue): void {
    if (value instanceof Decimal) {
      this.#hasDecimal = true;
      this.#decimals = addDecimals(this.#decimals, value);
    } else if (value instanceof Double) {
      this.#hasDouble = true;
      this.#addDouble(value.value);
    } else {
      this.#hasLong ||= typeof value === 'bigint';
      this.#addInteger(BigInt(value));
    }
  }

  /** A long has more digits than a double, so it is added in two parts. */
  #addInteger(value: bigint): void {
    this.#integers += value;
    const high = (value / 2n ** 32n) * 2n ** 32n;
    this.#addDouble(Number(value - high));
    this.#addDouble(Number(high));
  }

  #addDouble(value: number): void {
    this.#plain += value;
    const [sum, lost] = addExactly(this.#sum, value);
    [this.#sum, this.#rest] = addExactly(sum, this.#rest + lost);
  }

  result(): Value {
    if (this.#hasDecimal) return this.#decimalResult();
    if (this.#hasDouble || !isLong(this.#integers)) return new Double(this.#doubleResult());
    return this.#hasLong ? this.#integers : intOrLong(this.#integers);
  }

  /** The sum as the ms of a date, which the server rounds in two steps; `undefined` if it is out of range. */
  rounded(): bigint | undefined {
    if (this.#hasDecimal) throw new NotSimulatedError('a date and a decimal in one sum');
    if (!this.#hasDouble) return this.#integers;
    if (!Number.isFinite(this.#sum)) return undefined;
    const first = roundHalfAway(this.#sum);
    return BigInt(first) + BigInt(roundHalfAway(this.#sum - first + this.#rest));
  }

  #doubleResult(): number {
    return Number.isNaN(this.#sum) ? this.#plain : this.#sum + this.#rest;
  }

  #decimalResult(): Decimal {
    const exact = this.#doubleResult();
    if (!Number.isFinite(exact)) return addDecimals(this.#decimals, exactDecimal(exact));
    const numbers = addDecimals(rounded(exactDecimal(this.#sum)), rounded(exactDecimal(this.#rest)));
    return addDecimals(numbers, this.#decimals);
  }
}

const roundHalfAway = (value: number): number => {
  const size = Math.abs(value);
  const rounded = size - Math.trunc(size) >= 0.5 ? Math.trunc(size) + 1 : Math.trunc(size);
  return value < 0 ? -rounded : rounded;
};

/** The rounded sum, and what the rounding has lost. */
function addExactly(a: number, b: number): readonly [number, number] {
  const sum = a + b;
  const ofB = sum - a;
  return [sum, a - (sum - ofB) + (b - ofB)];
}
