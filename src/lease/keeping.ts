import type { Seats } from '../protocol/seats.js';
import { KeptLock } from './kept-lock.js';
import type { KeepingContext } from './kept-lock.js';

/** The locks whose seats this process keeps between its callers, while there is something to remember of them. */
export class Keeping {
  readonly #context: KeepingContext;
  readonly #locks = new Map<string, KeptLock>();
  readonly #seated = new Set<KeptLock>();

  /** @param onSeated - Called when the first seat is there that somebody may wait behind, and when the last one is gone. */
  constructor(context: Omit<KeepingContext, 'changed'>, onSeated: (isAnySeated: boolean) => void) {
    this.#context = {
      ...context,
      changed: (lock) => {
        const wasAnySeated = this.#seated.size > 0;
        if (lock.hasSeats) this.#seated.add(lock);
        else this.#seated.delete(lock);
        const key = keyOf(lock.name, lock.seats);
        if (lock.isInUse) this.#locks.set(key, lock);
        else this.#locks.delete(key);
        const isAnySeated = this.#seated.size > 0;
        if (isAnySeated !== wasAnySeated) onSeated(isAnySeated);
      },
    };
  }

  /** The lock, to be asked through; `undefined` if nothing of it is kept, and is not to be. */
  lock(name: string, seats: Seats, keepMs: number): KeptLock | undefined {
    const key = keyOf(name, seats);
    const known = this.#locks.get(key);
    if (known !== undefined || keepMs === 0) return known;
    const lock = new KeptLock(name, seats, this.#context);
    this.#locks.set(key, lock);
    return lock;
  }

  /** A wake-up told that somebody waits behind what is kept under this name. */
  othersWait(name: string): void {
    for (const lock of this.#seated) if (lock.name === name) lock.othersWait();
  }
}

const keyOf = (name: string, { kind }: Seats): string => `${kind} ${name}`;
