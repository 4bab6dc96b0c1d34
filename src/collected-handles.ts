import type { Chance } from './chance.js';

/**
 * Calls back with a hold when the handle of the hold was garbage-collected without a release.
 *
 * Make one object of this class for all providers of a program, so that its registry is never collected. In Node 20, if
 * a registry is collected just before its callback is due, no registry calls its callback any more (seen with 20.20).
 */
export class CollectedHandles<Hold> {
  readonly #registry: FinalizationRegistry<Hold>;

  constructor(onCollected: (hold: Hold) => void) {
    this.#registry = new FinalizationRegistry(onCollected);
  }

  track(handle: WeakKey, hold: Hold, { seesCollections }: Chance): void {
    if (seesCollections) this.#registry.register(handle, hold, handle);
  }

  untrack(handle: WeakKey): void {
    this.#registry.unregister(handle);
  }
}
