import { percentile } from '../benchmarks/statistics.js';

/** One hold as its worker believed it, in milliseconds of the clock that the processes share. */
export interface HoldRecord {
  readonly worker: string;
  readonly token: number;
  readonly askedMs: number;
  readonly grantedMs: number;
  /** `undefined` while it lasts. */
  endedMs: number | undefined;
  end: 'released' | 'lost' | 'killed' | undefined;
}

/** A hold that began when another worker released. */
export interface HandOver {
  readonly from: HoldRecord;
  readonly to: HoldRecord;
  /** From the release call in one process to the grant in the other. */
  readonly tookMs: number;
}

/** Every hold of every worker, and what can be judged from them. */
export class History {
  readonly #holds = new Map<number, HoldRecord>();

  granted(worker: string, token: number, askedMs: number, grantedMs: number): void {
    // A token given twice must not hide the first hold: it is kept beside it, and the check of the tokens fails.
    const key = this.#holds.has(token) ? token + 0.5 : token;
    this.#holds.set(key, { worker, token, askedMs, grantedMs, endedMs: undefined, end: undefined });
  }

  ended(worker: string, token: number, end: 'released' | 'lost', endedMs: number): void {
    const hold = [this.#holds.get(token), this.#holds.get(token + 0.5)].find(
      (candidate) => candidate?.worker === worker,
    );
    // Who lost a hold goes on to release it, which ends nothing any more.
    if (hold === undefined || hold.endedMs !== undefined) return;
    hold.endedMs = endedMs;
    hold.end = end;
  }

  /** A process that is no more believes nothing. */
  died(worker: string, diedMs: number): void {
    for (const hold of this.#holds.values()) {
      if (hold.worker !== worker || hold.endedMs !== undefined) continue;
      hold.endedMs = diedMs;
      hold.end = 'killed';
    }
  }

  /** All holds, in the order in which they began. */
  get holds(): readonly HoldRecord[] {
    return [...this.#holds.values()].sort((a, b) => a.grantedMs - b.grantedMs);
  }

  /** The hold of this worker that lasts. */
  current(worker: string): HoldRecord | undefined {
    return this.holds.find((hold) => hold.worker === worker && hold.endedMs === undefined);
  }

  /** The hand-over that this hold began with; `undefined` if the lock was free, or was not released. */
  handOverTo(to: HoldRecord): HandOver | undefined {
    const { holds } = this;
    const from = holds[holds.indexOf(to) - 1];
    if (from?.end !== 'released' || from.endedMs === undefined || from.worker === to.worker) return undefined;
    // Who asked only after the release was not waiting, and took a free lock.
    if (to.askedMs > from.endedMs) return undefined;
    return { from, to, tookMs: to.grantedMs - from.endedMs };
  }

  handOversOf(holds: readonly HoldRecord[]): readonly HandOver[] {
    return holds.map((hold) => this.handOverTo(hold)).filter((handOver) => handOver !== undefined);
  }

  /** The first two holds that were believed in at the same time. */
  findOverlap(): readonly [HoldRecord, HoldRecord] | undefined {
    let latest: HoldRecord | undefined;
    for (const hold of this.holds) {
      if (latest !== undefined && endOf(latest) > hold.grantedMs) return [latest, hold];
      latest = hold;
    }
    return undefined;
  }

  /** The first two holds, in the order of their grants, whose tokens do not rise. */
  findTokenNotRising(): readonly [HoldRecord, HoldRecord] | undefined {
    let before: HoldRecord | undefined;
    for (const hold of this.holds) {
      if (before !== undefined && hold.token <= before.token) return [before, hold];
      before = hold;
    }
    return undefined;
  }
}

const endOf = ({ endedMs }: HoldRecord): number => endedMs ?? Infinity;

/** `p50 2.1 ms, p99 4.0 ms` */
export function spread(valuesMs: readonly number[]): string {
  if (valuesMs.length === 0) return 'none';
  return `p50 ${percentile(valuesMs, 0.5).toFixed(1)} ms, p99 ${percentile(valuesMs, 0.99).toFixed(1)} ms`;
}
