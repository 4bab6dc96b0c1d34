// Checks of single values and of options objects. A failed check throws a `TypeError` or a `RangeError` that names the
// option and says what is wrong.

import { inspect } from 'node:util';
import { MAX_LEASE_MS, MIN_LEASE_MS } from '../protocol/lock-document.js';
import { refuseUnknownKeys } from './unknown-keys.js';
import type { KeysOf } from './unknown-keys.js';

/** The most bytes of UTF-8 in a name that `parseName` checks, and in a text that `shortText` checks. */
const MAX_TEXT_BYTES = 1_024;

export function leaseLength(option: string, value: unknown): number {
  return integer(option, value, MIN_LEASE_MS, MAX_LEASE_MS);
}

export function integer(option: string, value: unknown, low: number, high: number): number {
  const parsed = number(option, value, low, high);
  if (!Number.isInteger(parsed)) throw outOfRange(option, 'an integer', parsed);
  return parsed;
}

export function number(option: string, value: unknown, low: number, high: number): number {
  if (typeof value !== 'number') throw wrongType(option, 'a number', value);
  if (!(value >= low && value <= high)) {
    throw outOfRange(option, `between ${String(low)} and ${String(high)}`, value);
  }
  // Turns negative zero into zero: the driver would store negative zero as a double and not as an integer.
  return value + 0;
}

export function boolean(option: string, value: unknown): boolean {
  if (typeof value !== 'boolean') throw wrongType(option, 'a boolean', value);
  return value;
}

export function oneOf<const T extends string>(option: string, value: T, allowed: readonly T[]): T {
  if (typeof value !== 'string') throw wrongType(option, 'a string', value);
  if (!allowed.includes(value)) throw outOfRange(option, `one of ${allowed.join(', ')}`, value);
  return value;
}

export function shortText(option: string, value: unknown): string {
  if (typeof value !== 'string') throw wrongType(option, 'a string', value);
  const bytes = Buffer.byteLength(value);
  if (bytes > MAX_TEXT_BYTES) {
    throw new RangeError(
      `${option} must be at most ${String(MAX_TEXT_BYTES)} bytes of UTF-8, got ${String(bytes)}`,
    );
  }
  return value;
}

/** Replaces `undefined` by the default. `null` stays, because it is a wrong value and not a missing one. */
export const orElse = <T>(value: T | undefined, otherwise: T): T => (value === undefined ? otherwise : value);

/**
 * Checks that an options object has known keys only. A missing object counts as an empty one.
 *
 * @param of - The method or class that takes the options, for the error message.
 * @param option - The name of the argument, for the error message.
 */
export function knownOptions<T extends object>(
  value: T | undefined,
  of: string,
  known: KeysOf<T>,
  option = 'options',
): Partial<T> {
  const options = object(value, option);
  refuseUnknownKeys(options, of, known);
  return options;
}

/** Checks that a value is an object, but not its keys. A missing value counts as an empty object. */
export function object<T extends object>(value: T | undefined, option = 'options'): Partial<T> {
  if (value === undefined) return {};
  if (typeof value !== 'object' || (value as T | null) === null) throw wrongType(option, 'an object', value);
  return value;
}

export function optional<T, R>(value: T | undefined, parse: (value: T) => R): R | undefined {
  return value === undefined ? undefined : parse(value);
}

function shown(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.slice(0, 80));
  return typeof value === 'bigint' ? String(value) : inspect(value, { depth: 0 });
}

export function wrongType(option: string, rule: string, value: unknown): TypeError {
  return new TypeError(`${option} must be ${rule}, got ${shown(value)}`);
}

export function outOfRange(option: string, rule: string, value: unknown): RangeError {
  return new RangeError(`${option} must be ${rule}, got ${shown(value)}`);
}

/** Checks the name of a lock or job: a well-formed string of 1 to 1,024 bytes in UTF-8. The name is not normalised. */
export function parseName(name: unknown): string {
  if (typeof name !== 'string') throw wrongType('name', 'a string', name);
  if (name === '') throw new RangeError('name must not be empty');
  if (/\p{Surrogate}/u.test(name)) throw new TypeError('name must be well-formed: it has a lone surrogate');
  const bytes = Buffer.byteLength(name);
  if (bytes > MAX_TEXT_BYTES) {
    throw new RangeError(
      `name must be at most ${String(MAX_TEXT_BYTES)} bytes of UTF-8, got ${String(bytes)}`,
    );
  }
  return name;
}
