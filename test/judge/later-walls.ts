import type { Change } from './oplog-entry.js';

/**
 * Adds to each change the `wall` of a later entry of the same primary, as an upper bound of the time of the update.
 *
 * `wall` itself is no such bound. An update reads `$$NOW` from an exact clock. Its entry gets `wall` from a coarse
 * clock, which a thread of the server sets about every 10 ms (`BackgroundThreadClockSource` in the source of MongoDB 6.0). A
 * busy machine lets that thread wait: `wall` was seen 228 ms behind `$$NOW`. But the coarse clock was set again only
 * after the entry had read it, and so after `$$NOW`. Every greater `wall` is such a later setting.
 */
export class LaterWalls {
  readonly #onChange: (change: Change) => void;
  readonly #held: Change[] = [];
  #term: number | undefined;

  constructor(onChange: (change: Change) => void) {
    this.#onChange = onChange;
  }

  /** Called with each entry, before its changes. Each primary has a clock of its own. */
  entry(term: number, wallMs: number): void {
    if (term !== this.#term) this.end();
    this.#term = term;
    while ((this.#held[0]?.wallMs ?? Infinity) < wallMs) this.#releaseFirst(wallMs);
  }

  take(change: Change): void {
    this.#held.push(change);
  }

  /** Called after the last entry of a primary: no entry tells when the updates of the last changes began. */
  end(): void {
    while (this.#held.length > 0) this.#releaseFirst(Infinity);
  }

  #releaseFirst(laterWallMs: number): void {
    const first = this.#held.shift();
    if (first !== undefined) this.#onChange({ ...first, laterWallMs });
  }
}
