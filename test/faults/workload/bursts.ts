import type { Random } from '../../../lab/random.js';
import type { Mode } from '../history.js';
import { rest } from './stage.js';
import type { Stage } from './stage.js';
import { answered, asked } from './asks.js';
import { ObservedHold } from './observed-hold.js';
import { askFor } from './wishes.js';
import type { Wish } from './wishes.js';

/** How every lock is named that is asked for in a burst. No process asks for it again later. */
export const NEW_NAME = 'new ';

/** All processes share the names of an epoch, and ask for them at its beginning. */
const EPOCH_MS = 1_000;

/** How many paces an epoch lasts where the stage has a pace. The pause before a burst lasts up to two epochs. */
export const EPOCH_PACES = 10;

/** As many locks as one group may have, so that some of the bursts need several groups. */
const NAMES = 64;
const LEAST_NAMES = 8;

/** The longest times between the beginning of an epoch and the burst, and until what is held is given back. */
const [LATE_MS, HOLD_MS] = [20, 150];

/** The longest short timeout, in which a request may be given up on its way, and the longest other one. */
const [SHORT_TIMEOUT_MS, TIMEOUT_MS] = [40, 8_000];

const MODES: readonly [Mode, ...Mode[]] = ['read', 'upgradeable', 'write', 'write'];

/**
 * Asks for many new names in one turn, so that they go to the server in groups, and gives back together what it has. Half
 * of the bursts want names that other processes want at the same moment.
 */
export class Bursts {
  readonly #stage: Stage;
  readonly #random: Random;

  constructor(stage: Stage, random: Random) {
    this.#stage = stage;
    this.#random = random;
  }

  async act(): Promise<void> {
    const { time, paceMs = 0 } = this.#stage;
    const epochMs = Math.max(EPOCH_MS, EPOCH_PACES * paceMs);
    while (!this.#stage.isStopping) {
      const nowMs = time.nowMs();
      const epoch = Math.floor(nowMs / epochMs) + this.#random.between(1, 2);
      await rest(this.#stage, epoch * epochMs - nowMs + this.#random.between(0, LATE_MS));
      await this.#burst(epoch);
    }
  }

  /** No request waits for another one of its burst to be answered: two processes may each have what the other wants. */
  async #burst(epoch: number): Promise<void> {
    const held: ObservedHold[] = [];
    const asking = new Set<Promise<void>>();
    for (const wish of this.#drawWishes(epoch)) {
      const ask = this.#ask(wish, held).finally(() => asking.delete(ask));
      asking.add(ask);
    }
    const holdMs = this.#random.between(0, HOLD_MS);
    while (asking.size > 0 || held.length > 0) {
      await this.#stage.time.pause(holdMs);
      await Promise.all(held.splice(0).map((hold) => hold.release()));
    }
  }

  async #ask(wish: Wish, held: ObservedHold[]): Promise<void> {
    const stage = this.#stage;
    const timeoutMs = this.#drawTimeoutMs();
    const isTry = timeoutMs === 0;
    const ask = asked(stage, wish, timeoutMs, false);
    const options = { why: 'a burst', ...(timeoutMs === null || isTry ? {} : { timeoutMs }) };
    const handle = await answered(stage, [ask], askFor(stage, wish, options, isTry));
    if (handle !== null) held.push(new ObservedHold(handle, ask, stage));
  }

  #drawTimeoutMs(): number | null {
    const random = this.#random;
    if (random.percent(20)) return random.between(1, SHORT_TIMEOUT_MS);
    if (random.percent(15)) return 0;
    return random.percent(30) ? null : random.between(SHORT_TIMEOUT_MS, TIMEOUT_MS);
  }

  #drawWishes(epoch: number): readonly Wish[] {
    const random = this.#random;
    const prefix = `${NEW_NAME}${random.percent(50) ? '' : `${this.#stage.locks.processId} `}${epoch}`;
    const [first, count] = [random.between(0, NAMES - 1), random.between(LEAST_NAMES, NAMES)];
    return Array.from({ length: count }, (_, index) => {
      const number = (first + index) % NAMES;
      return { lock: `${prefix} ${number}`, seat: this.#seatOf(number) };
    });
  }

  /** All processes use a lock as the same kind. */
  #seatOf(number: number): Wish['seat'] {
    const random = this.#random;
    if (number % 4 === 1) return { kind: 'reader-writer', mode: random.pick(MODES) };
    if (number % 4 === 2) return { kind: 'semaphore', permits: random.between(1, 2), limit: 2 };
    return { kind: 'mutex' };
  }
}
