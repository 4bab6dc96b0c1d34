import { wrongType } from './options/checks.js';

/**
 * Finds one part of a provider for the other entry points of the package, such as `leasehold/opentelemetry`. The public
 * API does not show that part. If a program has loaded two copies of the library, each copy finds only the parts of its
 * own providers.
 */
export class ProviderParts<T> {
  readonly #expected: string;
  readonly #parts = new WeakMap<object, T>();

  /** @param expected - The classes of the providers that have such a part, for the message of the error. */
  constructor(expected: string) {
    this.#expected = `${expected} of this copy of the library`;
  }

  /** Each provider calls this method for itself. */
  keep(provider: object, part: T): void {
    this.#parts.set(provider, part);
  }

  /** @throws `TypeError` if `locks` is no provider that this copy of the library has made, or has no such part. */
  of(locks: unknown): T {
    const isObject = typeof locks === 'object' && locks !== null;
    const part = isObject ? this.#parts.get(locks) : undefined;
    if (part === undefined) throw wrongType('locks', this.#expected, locks);
    return part;
  }
}
