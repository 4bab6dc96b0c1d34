import type { Timer } from '../../clock.js';
import type { Seats } from '../../protocol/seats.js';
import { CachedLock } from './cached-lock.js';
import type { SeatCacheContext } from './cached-lock.js';

/** The locks whose seats this process keeps between its callers, while there is something to remember of them. */
export class SeatCache {
  readonly #context: SeatCacheContext;
  readonly #listen: (isListening: boolean) => void;
  readonly #locks = new Map<string, CachedLock>();
  readonly #seated = new Set<CachedLock>();
  #timer: Timer | undefined;

  /** @param listen - Whether somebody may have to wait behind a seat of this process, and name it. */
  constructor(context: Omit<SeatCacheContext, 'changed'>, listen: (isListening: boolean) => void) {
    this.#listen = listen;
    this.#context = {
      ...context,
      changed: (lock) => {
        this.#changed(lock);
      },
    };
  }

  /** The lock, to be asked through; `undefined` if nothing of it is kept, and is not to be. */
  lock(name: string, seats: Seats, keepMs: number): CachedLock | undefined {
    const key = keyOf(seats.kind, name);
    const known = this.#locks.get(key);
    if (known !== undefined || keepMs === 0) return known;
    // Remembered when it is in use: a request that is refused before it begins leaves nothing behind.
    return new CachedLock(name, seats, this.#context);
  }

  /** A wake-up told that somebody waits behind what is kept under this name. */
  othersWait(name: string): void {
    for (const kind of ['mutex', 'semaphore']) this.#locks.get(keyOf(kind, name))?.othersWait();
  }

  close(): void {
    this.#timer?.cancel();
  }

  #changed(lock: CachedLock): void {
    const key = keyOf(lock.seats.kind, lock.name);
    if (!lock.isInUse) this.#locks.delete(key);
    else if (!this.#locks.has(key)) this.#locks.set(key, lock);
    if (lock.hasSeats) {
      this.#seated.add(lock);
      this.#timer?.cancel();
      if (this.#seated.size === 1) this.#listen(true);
    } else if (this.#seated.delete(lock) && this.#seated.size === 0) this.#closeLater(lock.keepMs);
  }

  /** Whoever uses a lock again within `keepMs` wants its seat kept then, and for that somebody must have listened. */
  #closeLater(keepMs: number): void {
    const { clock } = this.#context;
    this.#timer = clock.at(clock.nowMs() + keepMs, () => {
      this.#listen(false);
    });
  }
}

const keyOf = (kind: string, name: string): string => `${kind} ${name}`;
