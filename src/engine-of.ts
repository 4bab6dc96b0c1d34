import type { Engine } from './engine.js';
import { ProviderParts } from './provider-parts.js';

const engines = new ProviderParts<Engine>('a LockProvider');

export function keepEngine(provider: object, engine: Engine): void {
  engines.keep(provider, engine);
}

/**
 * The parts behind a `LockProvider`.
 *
 * @throws `TypeError` if `locks` is no `LockProvider` of this copy of the library.
 */
export const engineOf = (locks: object): Engine => engines.of(locks);
