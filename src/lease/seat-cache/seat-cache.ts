// Folder `seat-cache`: lets the next caller of the process use a seat without a command to the server, while the
// process knows that no other process waits for the lock. The option `passes` allows a bounded number of exceptions.

import { LOCK_KINDS } from '../../protocol/lock-document.js';
import type { KindRules } from '../../protocol/kind-rules.js';
import { CachedLock } from './cached-lock.js';
import { CachedReads } from './cached-reads.js';
import type { Cached, SeatCacheContext } from './cached-request.js';
import type { KeeperWatch } from './keeper-watch.js';

/** The locks whose seats this process keeps between its callers. */
export class SeatCache {
  readonly #context: SeatCacheContext;
  readonly #watch: KeeperWatch;
  readonly #locks = new Map<string, Cached>();

  constructor(context: Omit<SeatCacheContext, 'changed' | 'used'>, watch: KeeperWatch) {
    this.#watch = watch;
    this.#context = {
      ...context,
      changed: (lock) => {
        this.#changed(lock);
      },
      used: () => {
        watch.used();
      },
    };
  }

  /**
   * Returns the object through which the lock is acquired, or `undefined` if the caller must ask the server directly.
   */
  lock(name: string, rules: KindRules, keepMs: number): Cached | undefined {
    const key = keyOf(rules.kind, name);
    const known = this.#locks.get(key);
    if (known !== undefined || keepMs === 0) return known;
    // The cache stores the new object only when the object is in use. So a request that fails earlier leaves nothing
    // behind.
    return rules.keeping === 'shared'
      ? new CachedReads(name, rules, this.#context)
      : new CachedLock(name, rules, this.#context);
  }

  /**
   * Called when a word, in an event or in the reply to an update of this process, asks this process to give back its
   * kept seats of this name. Also called when an upgrade of this process begins, which would wait for the kept read of
   * this process.
   */
  othersWait(name: string): void {
    for (const kind of LOCK_KINDS) this.#locks.get(keyOf(kind, name))?.othersWait();
  }

  #changed(lock: Cached): void {
    const key = keyOf(lock.rules.kind, lock.name);
    if (!lock.isInUse) this.#locks.delete(key);
    else if (!this.#locks.has(key)) this.#locks.set(key, lock);
    this.#watch.changed(lock);
  }
}

const keyOf = (kind: string, name: string): string => `${kind} ${name}`;
