import type { Engine } from './engine.js';
import { wrongType } from './options/checks.js';

const engines = new WeakMap<object, Engine>();

/** Stores the engine of a provider. Each provider calls this function for itself. */
export function keepEngine(provider: object, engine: Engine): void {
  engines.set(provider, engine);
}

/**
 * The parts behind a `LockProvider`, for the other entries of the package: the public API does not show them.
 *
 * @throws `TypeError` if `locks` is no `LockProvider` of this copy of the library.
 */
export function engineOf(locks: object): Engine {
  const isObject = typeof locks === 'object' && (locks as object | null) !== null;
  const engine = isObject ? engines.get(locks) : undefined;
  if (engine === undefined) throw wrongType('locks', 'a LockProvider of this copy of the library', locks);
  return engine;
}
