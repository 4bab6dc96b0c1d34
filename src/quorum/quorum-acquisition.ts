import { onAbort } from '../abort-listeners.js';
import { withCallerFrames } from '../caller-frames.js';
import type { Timer } from '../clock.js';
import { AcquireTimeoutError, ProviderClosedError } from '../errors.js';
import type { LeaseholdError } from '../errors.js';
import type { LeaseInfo } from '../protocol/replies/snapshot.js';
import { idGivenBack } from '../protocol/wake.js';
import { QuorumRounds } from './quorum-rounds.js';
import { QuorumError } from './quorum-error.js';
import type { QuorumHold } from './quorum-hold.js';
import type { Quorum } from './quorum.js';
import { describeFailures, isForGood } from './store-failure.js';
import type { Store, SeatRequest } from './store.js';

/**
 * A single try asks so many times at most while contenders take seats from each other: without that, two processes that
 * try at the same moment could both be refused a free lock. Its last round begins within `storeTimeoutMs`.
 */
const MAX_ROUNDS_OF_A_TRY = 8;

/** A request that has come to nothing, and why. */
interface Failed {
  readonly errorOf: () => unknown;
}

/** How long one request waits. */
export interface Patience {
  readonly timeoutMs: number;
  readonly signal: AbortSignal | undefined;
  readonly startedMs: number;
}

/**
 * One call of acquire: round after round, with pauses, until one is won or the time is up.
 *
 * There is no queue, for queues in several stores deadlock: each contender could be the first in another one. Whoever
 * has not got a majority gives back what it has, so that nobody waits while holding.
 *
 * - `held`: one process keeps a majority away. The pause ends when so many of its seats are given back that a majority is
 *   free, which the stores' streams tell. Extensions wake nobody. Without streams a look comes after a pause that grows.
 * - `at the gate`: whoever was there before keeps it, until it is given back. All who hear of that meet at the gate again,
 *   which lets one in. A look past the gate comes after a pause that grows, should the one at the gate have died.
 * - `split`: contenders have taken seats from each other. Nothing but time ends the pause, random over a range that
 *   doubles with each split vote: if those who back out woke each other, they would meet again and again.
 */
export class QuorumAcquisition {
  readonly #quorum: Quorum;
  readonly #wish: SeatRequest;
  readonly #patience: Patience;
  readonly #round: QuorumRounds;
  /** Who is in the way in each store, while the lock is held. */
  #inTheWay: Map<Store, Set<string>> | undefined;
  /** Who has given back a seat since the round began: the news of it may come before the refusal. */
  readonly #gone = new Set<string>();
  #unwatch: readonly (() => void)[] = [];
  #endPause: () => void = () => undefined;
  #looks = 0;
  #splits = 0;
  #rounds = 0;
  #hasGate = false;
  #over: Failed | undefined;
  #fail!: (failed: Failed) => void;

  constructor(quorum: Quorum, wish: SeatRequest, patience: Patience) {
    this.#quorum = quorum;
    this.#wish = wish;
    this.#patience = patience;
    this.#round = new QuorumRounds(quorum, wish);
  }

  /** Rejects with what kept the lock away; then everything is given back, at once or in the background. */
  async run(): Promise<QuorumHold> {
    const { clock, closing } = this.#quorum;
    const { signal, timeoutMs, startedMs } = this.#patience;
    signal?.throwIfAborted();
    if (closing.aborted) throw new ProviderClosedError(this.#wish.name);
    const failed = new Promise<Failed>((resolve) => {
      this.#fail = resolve;
    });
    const forget = onAbort(signal, () => {
      this.#end(() => signal?.reason);
    });
    const onClosing = (): void => {
      this.#end(() => new ProviderClosedError(this.#wish.name));
    };
    closing.addEventListener('abort', onClosing, { once: true });
    let timer: Timer | undefined;
    if (timeoutMs > 0 && timeoutMs < Infinity) {
      timer = clock.at(startedMs + timeoutMs, () => {
        this.#end(this.#failure());
      });
    }
    try {
      const ending = await Promise.race([this.#contend(), failed]);
      // Made here, so that its stack leads to the caller.
      if ('errorOf' in ending) throw withCallerFrames(ending.errorOf);
      return ending;
    } finally {
      timer?.cancel();
      forget();
      closing.removeEventListener('abort', onClosing);
      for (const unwatch of this.#unwatch) unwatch();
    }
  }

  async #contend(): Promise<QuorumHold | Failed> {
    const { clock, contended } = this.#quorum;
    await this.#letOthersPass();
    for (;;) {
      const over = this.#whyOver();
      if (over !== undefined) return over;
      this.#gone.clear();
      const beganMs = clock.nowMs();
      const hold = await this.#round.hold(this.#hasGate);
      const overSince = this.#whyOver();
      if (overSince !== undefined) {
        void hold?.release();
        return overSince;
      }
      if (hold !== undefined) return hold;
      if (this.#round.obstacles.refusals.size > 0) contended.add(this.#wish.name, clock.nowMs() - beganMs);
      this.#rounds += 1;
      if (this.#isHopeless || !(await this.#mayGoOn())) return { errorOf: this.#failure() };
      await this.#pause();
    }
  }

  /** A wait goes on until its time is up. A single try does while nobody has the lock and the stores answer. */
  async #mayGoOn(): Promise<boolean> {
    if (this.#patience.timeoutMs > 0) return true;
    await this.#round.answeredByMajority();
    const { clock, majority, stores } = this.#quorum;
    const hasMajority = stores.length - this.#round.obstacles.failures.length >= majority;
    const isSlow = this.#round.slowness !== undefined;
    if (!hasMajority || isSlow || this.#isHeld()) return false;
    return this.#rounds < MAX_ROUNDS_OF_A_TRY && clock.nowMs() < this.#lastRoundMs;
  }

  /** When a single try begins its last round at the latest; a wait is ended by its timeout alone. */
  get #lastRoundMs(): number {
    const { timeoutMs, startedMs } = this.#patience;
    return timeoutMs > 0 ? Infinity : startedMs + this.#quorum.settings.storeTimeoutMs;
  }

  /** `undefined`: it goes on. */
  #whyOver(): Failed | undefined {
    return this.#over;
  }

  #end(errorOf: () => unknown): void {
    this.#over = { errorOf };
    this.#round.end();
    this.#endPause();
    this.#fail(this.#over);
  }

  /** So many stores have refused for good that waiting is of no use. */
  get #isHopeless(): boolean {
    const { majority, stores } = this.#quorum;
    const { failures } = this.#round.obstacles;
    const forGood = failures.filter(isForGood);
    return stores.length - forGood.length < majority;
  }

  /** What makes the error, of all that is known now: the end of the rounds changes it. */
  #failure(): () => LeaseholdError {
    const { clock, majority, stores, report } = this.#quorum;
    const { name, kind } = this.#wish;
    const { slowness } = this.#round;
    const { holders, failures } = this.#round.obstacles;
    if (slowness !== undefined || stores.length - failures.length < majority) {
      return () => new QuorumError(name, stores.length, failures, slowness);
    }
    const waitedMs = clock.nowMs() - this.#patience.startedMs;
    if (this.#patience.timeoutMs > 0) report('timeout', { lockName: name, kind, id: '', waitedMs });
    const silent = failures.length > 0 && {
      cause: new AggregateError(
        failures.map(({ error }) => error),
        'what the stores said',
      ),
      silence: describeFailures(failures),
    };
    return () => new AcquireTimeoutError(name, { holders: onePerProcess(holders), waitedMs, ...silent });
  }

  // ---- pausing

  async #pause(): Promise<void> {
    const { min, max } = this.#quorum.settings.pollMs;
    // A stream costs more than the short pauses of a try.
    if (this.#patience.timeoutMs > 0) this.#watch();
    const range = (count: number): number => Math.min(max, min * 2 ** Math.min(count, 20));
    let pauseMs: number;
    this.#hasGate = true;
    const { isAtGate } = this.#round.obstacles;
    if (isAtGate || this.#isHeld()) {
      this.#inTheWay = this.#whoIsInTheWay();
      if (this.#mayBeFree()) return;
      pauseMs = range(this.#looks) * (0.5 + Math.random() / 2);
      this.#looks += 1;
      if (!isAtGate) this.#splits = Math.max(0, this.#splits - 1);
    } else {
      pauseMs = range(this.#splits) * Math.random();
      this.#splits += 1;
    }
    const leftMs = Math.max(0, this.#lastRoundMs - this.#quorum.clock.nowMs());
    const wasEnded = await this.#sleep(Math.min(pauseMs, leftMs));
    this.#inTheWay = undefined;
    // Nothing was heard of whoever refused at the gate: perhaps the others are free.
    if (isAtGate && !wasEnded) this.#hasGate = false;
  }

  /**
   * Whoever has just released would always be the first to ask again, before those who wait have heard of it. Where
   * others have been in the way lately, it comes as late as they do, and as them to the gate; but not so late that little
   * is left of its own time.
   */
  async #letOthersPass(): Promise<void> {
    const { contended, settings } = this.#quorum;
    const { timeoutMs } = this.#patience;
    const roundMs = contended.roundMs(this.#wish.name);
    if (roundMs === undefined || timeoutMs === 0) return;
    this.#hasGate = true;
    const { min, max } = settings.pollMs;
    await this.#sleep(Math.min(timeoutMs / 4, Math.min(max, min + roundMs) * (0.5 + Math.random())));
  }

  /** Resolves after so long, or when the pause is ended: whether it was. */
  async #sleep(ms: number): Promise<boolean> {
    const { clock } = this.#quorum;
    const wasEnded = await new Promise<boolean>((resolve) => {
      const timer = clock.at(clock.nowMs() + ms, () => {
        resolve(false);
      });
      this.#endPause = () => {
        timer.cancel();
        resolve(true);
      };
    });
    this.#endPause = () => undefined;
    return wasEnded;
  }

  #watch(): void {
    if (this.#unwatch.length > 0) return;
    this.#unwatch = this.#quorum.stores.map((store) =>
      store.watch(this.#wish.name, {
        changed: (words) => {
          this.#changed(store, words);
        },
      }),
    );
  }

  /** Whether one process has refused so many stores that nobody else can have a majority. */
  #isHeld(): boolean {
    const counts = new Map<string, number>();
    for (const holders of this.#round.obstacles.refusals.values()) {
      for (const process of new Set(holders.map((holder) => holder.process))) {
        counts.set(process, (counts.get(process) ?? 0) + 1);
      }
    }
    return Math.max(0, ...counts.values()) >= this.#quorum.majority;
  }

  #whoIsInTheWay(): Map<Store, Set<string>> {
    const inTheWay = new Map<Store, Set<string>>();
    for (const [store, holders] of this.#round.obstacles.refusals) {
      inTheWay.set(store, new Set(holders.map(({ id }) => id).filter((id) => !this.#gone.has(id))));
    }
    return inTheWay;
  }

  /** At the gate, whoever refused there has left; else, so many that a majority is free. */
  #mayBeFree(): boolean {
    const { majority, health, stores } = this.#quorum;
    if (this.#round.obstacles.isAtGate) {
      return [...(this.#inTheWay?.values() ?? [])].every(({ size }) => size === 0);
    }
    const free = stores.filter(
      (store) => !health.isSilent(store) && (this.#inTheWay?.get(store)?.size ?? 0) === 0,
    );
    return free.length >= majority;
  }

  #changed(store: Store, words: readonly string[] | null): void {
    const left = (words ?? []).map(idGivenBack);
    for (const id of left) {
      if (id === undefined) continue;
      this.#gone.add(id);
      this.#inTheWay?.get(store)?.delete(id);
    }
    if (this.#inTheWay === undefined || (words !== null && !this.#mayBeFree())) return;
    this.#endPause();
  }
}

/** A holder is stored in several stores. */
function onePerProcess(holders: readonly LeaseInfo[]): readonly LeaseInfo[] {
  const byProcess = new Map(holders.map((holder) => [holder.process, holder]));
  return [...byProcess.values()];
}
