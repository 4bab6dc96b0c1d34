import type { Ended, Granted } from './messages.js';

/** One hold as its worker believed it, in milliseconds of the clock that the processes share. */
export interface HoldRecord {
  readonly worker: string;
  readonly token: number;
  readonly askedMs: number;
  readonly grantedMs: number;
  readonly keeps: boolean;
  /** `undefined` while it lasts. */
  endedMs?: number;
  endedBy?: 'release' | 'loss' | 'death';
}

/** A hold that began when another worker, for which this one had been waiting, released. */
export interface HandOver {
  readonly from: HoldRecord;
  readonly to: HoldRecord;
  /** From the release call in one process to the grant in the other. */
  readonly tookMs: number;
}

/** Every hold of every worker, and what can be judged from them. */
export class History {
  readonly #holds: HoldRecord[] = [];

  granted(worker: string, { token, askedMs, atMs, keeps }: Granted): void {
    this.#holds.push({ worker, token, askedMs, grantedMs: atMs, keeps });
  }

  ended(worker: string, { token, atMs, by }: Ended): void {
    const hold = this.#holds.findLast(
      (candidate) => candidate.worker === worker && candidate.token === token,
    );
    // Who lost a hold goes on to release it, which ends nothing any more.
    if (hold === undefined || hold.endedMs !== undefined) return;
    hold.endedMs = atMs;
    hold.endedBy = by;
  }

  /** A process that is no more believes nothing. */
  died(worker: string, diedMs: number): void {
    for (const hold of this.#holds) {
      if (hold.worker !== worker || hold.endedMs !== undefined) continue;
      hold.endedMs = diedMs;
      hold.endedBy = 'death';
    }
  }

  /** All holds, in the order in which they began. */
  get holds(): readonly HoldRecord[] {
    return this.#holds.toSorted((a, b) => a.grantedMs - b.grantedMs);
  }

  get handOvers(): readonly HandOver[] {
    return pairs(this.holds).flatMap(([from, to]) => {
      const wasReleased = from.endedBy === 'release' && from.worker !== to.worker;
      // Who asked only after the release took a free lock.
      if (!wasReleased || from.endedMs === undefined || to.askedMs > from.endedMs) return [];
      return [{ from, to, tookMs: to.grantedMs - from.endedMs }];
    });
  }

  /** The first two holds that were believed in at the same time. */
  findOverlap(): readonly [HoldRecord, HoldRecord] | undefined {
    return pairs(this.holds).find(([before, after]) => (before.endedMs ?? Infinity) > after.grantedMs);
  }

  /** The first two holds, in the order of their grants, whose tokens do not rise. */
  findFallingTokens(): readonly [HoldRecord, HoldRecord] | undefined {
    return pairs(this.holds).find(([before, after]) => after.token <= before.token);
  }
}

function pairs<T>(items: readonly T[]): readonly (readonly [T, T])[] {
  return items.slice(1).map((item, index) => [items[index] ?? item, item]);
}
