import { wrongType } from './options/checks.js';

/**
 * One part of each provider, for the other entries of the package: the public API does not show it. Another copy of
 * the library has other parts, and does not know the providers of this copy.
 */
export class ProviderParts<T> {
  readonly #expected: string;
  readonly #parts = new WeakMap<object, T>();

  /** @param expected - Which provider has such a part, for the error. */
  constructor(expected: string) {
    this.#expected = `${expected} of this copy of the library`;
  }

  /** Each provider calls this method for itself. */
  keep(provider: object, part: T): void {
    this.#parts.set(provider, part);
  }

  /** @throws `TypeError` if `locks` is no provider of this copy of the library that has such a part. */
  of(locks: unknown): T {
    const isObject = typeof locks === 'object' && locks !== null;
    const part = isObject ? this.#parts.get(locks) : undefined;
    if (part === undefined) throw wrongType('locks', this.#expected, locks);
    return part;
  }
}
