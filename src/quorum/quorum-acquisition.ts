import { Backoff } from '../backoff.js';
import { withCallerFrames } from '../caller-frames.js';
import { AcquireTimeoutError } from '../errors.js';
import type { LeaseholdError } from '../leasehold-error.js';
import { newAttemptId } from '../lease/ids.js';
import type { LeaseInfo } from '../protocol/replies/snapshot.js';
import { idGivenBack } from '../protocol/wake.js';
import { Scope } from '../scope.js';
import type { CallLimits } from '../scope.js';
import { QuorumRounds } from './quorum-rounds.js';
import { QuorumError } from './quorum-error.js';
import type { QuorumHold } from './quorum-hold.js';
import type { Quorum } from './quorum.js';
import { describeFailures, isForGood } from './store-failure.js';
import type { Store, SeatRequest } from './store.js';

/**
 * The most rounds of a single try. With one round only, two processes that try at the same moment could take seats from
 * each other and both fail, although the lock is free.
 */
const MAX_ROUNDS_OF_A_TRY = 8;

/** The request has failed; `errorOf` makes its error. */
interface Failed {
  readonly errorOf: () => unknown;
}

/**
 * One call of acquire: rounds with pauses between them, until a round wins or the time is up.
 *
 * There is no queue, because queues in several stores deadlock: each contender could be at the head of the queue in one
 * store, and no contender at the head in a majority. After a round without a majority, the request releases its seats
 * and pauses.
 *
 * The obstacle decides what ends a pause:
 *
 * - _Held_: one process has seats in a majority of the stores. The pause ends when the reported releases leave a
 *   majority of the stores free, or when a change stream may have missed an event. The pause also has a bound, which
 *   grows from pause to pause, up to `pollMs.max`.
 * - _The gate is busy_: the holder or an earlier contender has the seat at the gate. When that seat is released, all
 *   waiting requests ask the gate again, and one of them gets the seat. The process that has the seat may have died.
 *   So, if the reported releases do not free the gate within the bound of the pause, the next round has no gate.
 * - _Any other obstacle_, mostly a split vote: only time ends the pause, and its length is random. Otherwise,
 *   contenders that release their seats would wake each other, and collide again and again. The longest length doubles
 *   with each such pause, up to `pollMs.max`, and halves with each pause of the kind _Held_.
 */
export class QuorumAcquisition {
  readonly #quorum: Quorum;
  readonly #request: SeatRequest;
  readonly #limits: CallLimits;
  readonly #rounds: QuorumRounds;
  /**
   * The busy stores whose releases end the present pause, each with its holders. `undefined` if only time ends the
   * pause. Has no meaning during a round.
   */
  #awaited: ReadonlyMap<Store, readonly LeaseInfo[]> | undefined;
  /**
   * The ids of the leases that were released since the round began. The event of a release may arrive before the answer
   * that names the lease.
   */
  readonly #releasedIds = new Set<string>();
  #unwatch: readonly (() => void)[] = [];
  #endPause: () => void = () => undefined;
  #heldPauses = 0;
  #splitVotes = 0;
  #roundCount = 0;
  #hasGate = false;
  #over: Failed | undefined;
  #fail!: (failed: Failed) => void;

  constructor(quorum: Quorum, request: SeatRequest, limits: CallLimits) {
    this.#quorum = quorum;
    this.#request = request;
    this.#limits = limits;
    this.#rounds = new QuorumRounds(quorum, request);
  }

  /** If the promise rejects, the seats of the request are released, at once or in the background. */
  async run(): Promise<QuorumHold> {
    const { clock, closing } = this.#quorum;
    // A single try has no time limit here: `#lastRoundMs` bounds its rounds.
    const scope = new Scope(this.#request.name, clock, closing, this.#limits, Infinity);
    scope.throwIfOver();
    const failed = new Promise<Failed>((resolve) => {
      this.#fail = resolve;
    });
    const close = scope.open({
      aborted: (errorOf) => {
        this.#end(errorOf);
      },
      timeUp: () => {
        this.#end(this.#reportFailure());
      },
    });
    try {
      const ending = await Promise.race([this.#runRounds(), failed]);
      // The caller awaits this function. So the stack of an error that is created here leads to the caller.
      if ('errorOf' in ending) throw withCallerFrames(ending.errorOf);
      return ending;
    } finally {
      close();
      for (const unwatch of this.#unwatch) unwatch();
    }
  }

  async #runRounds(): Promise<QuorumHold | Failed> {
    const { clock, contended } = this.#quorum;
    await this.#letOthersPass();
    for (;;) {
      const over = this.#whyOver();
      if (over !== undefined) return over;
      this.#releasedIds.clear();
      const beganMs = clock.nowMs();
      const hold = await this.#rounds.run(this.#hasGate);
      const overSince = this.#whyOver();
      if (overSince !== undefined) {
        void hold?.release();
        return overSince;
      }
      if (hold !== undefined) return hold;
      if (this.#rounds.obstacles.busyStores.size > 0)
        contended.add(this.#request.name, clock.nowMs() - beganMs);
      this.#roundCount += 1;
      if (this.#isHopeless || !(await this.#mayGoOn())) return { errorOf: this.#reportFailure() };
      await this.#pause();
    }
  }

  /**
   * Whether another round may follow. A request with a timeout goes on until its time is up. A single try goes on only
   * while no process holds the lock and a majority of the stores answers in time, until `MAX_ROUNDS_OF_A_TRY` rounds or
   * `#lastRoundMs`.
   */
  async #mayGoOn(): Promise<boolean> {
    if (this.#limits.timeoutMs > 0) return true;
    await this.#rounds.answeredByMajority();
    const { clock, majority, stores } = this.#quorum;
    const hasMajority = stores.length - this.#rounds.obstacles.failures.length >= majority;
    const isSlow = this.#rounds.slowness !== undefined;
    if (!hasMajority || isSlow || this.#isHeldByOneProcess()) return false;
    return this.#roundCount < MAX_ROUNDS_OF_A_TRY && clock.nowMs() < this.#lastRoundMs;
  }

  /**
   * A request with `timeoutMs` 0 begins no further round after this time. `Infinity` for a longer timeout, which itself
   * ends the rounds.
   */
  get #lastRoundMs(): number {
    const { timeoutMs, startedMs } = this.#limits;
    return timeoutMs > 0 ? Infinity : startedMs + this.#quorum.settings.storeTimeoutMs;
  }

  /** A method, because TypeScript would assume that a field which is `undefined` before an `await` stays so. */
  #whyOver(): Failed | undefined {
    return this.#over;
  }

  #end(errorOf: () => unknown): void {
    this.#over = { errorOf };
    this.#rounds.end();
    this.#endPause();
    this.#fail(this.#over);
  }

  /** Whether so many stores have failed for good that no majority is left. Waiting is useless then. */
  get #isHopeless(): boolean {
    const { majority, stores } = this.#quorum;
    const { failures } = this.#rounds.obstacles;
    const forGood = failures.filter(isForGood);
    return stores.length - forGood.length < majority;
  }

  /**
   * Returns a function that makes the error of the failed request. Before an `AcquireTimeoutError` of a request with a
   * timeout, also reports the event `timeout`. The facts for the error are read now, because they change when the
   * rounds end.
   */
  #reportFailure(): () => LeaseholdError {
    const { clock, majority, stores, report } = this.#quorum;
    const { name, kind } = this.#request;
    const { slowness } = this.#rounds;
    const { holders, failures } = this.#rounds.obstacles;
    if (slowness !== undefined || stores.length - failures.length < majority) {
      return () => new QuorumError(name, stores.length, failures, slowness);
    }
    const waitedMs = clock.nowMs() - this.#limits.startedMs;
    if (this.#limits.timeoutMs > 0) {
      // Each try at a store is an attempt with an id of its own. None of these ids names the whole request, so the
      // event gets a new id.
      report('timeout', { lockName: name, kind, id: newAttemptId(clock), waitedMs });
    }
    const silent = failures.length > 0 && {
      cause: new AggregateError(
        failures.map(({ error }) => error),
        'the errors of the stores',
      ),
      silence: describeFailures(failures),
    };
    return () => new AcquireTimeoutError(name, { holders: onePerProcess(holders), waitedMs, ...silent });
  }

  // ---- pausing

  async #pause(): Promise<void> {
    const { clock, settings } = this.#quorum;
    const { min, max } = settings.pollMs;
    // The pauses of a single try are too short to be worth a change stream.
    if (this.#limits.timeoutMs > 0) this.#watch();
    const backoff = new Backoff(min, max);
    let pauseMs: number;
    this.#hasGate = true;
    const { isGateBusy } = this.#rounds.obstacles;
    if (isGateBusy || this.#isHeldByOneProcess()) {
      this.#awaited = this.#rounds.obstacles.busyStores;
      if (this.#mayBeFree()) return;
      pauseMs = backoff.pauseMs(clock, this.#heldPauses);
      this.#heldPauses += 1;
      if (!isGateBusy) this.#splitVotes = Math.max(0, this.#splitVotes - 1);
    } else {
      this.#awaited = undefined;
      pauseMs = backoff.longestMs(this.#splitVotes) * clock.chance.number();
      this.#splitVotes += 1;
    }
    const leftMs = Math.max(0, this.#lastRoundMs - clock.nowMs());
    const wasEnded = await this.#sleep(Math.min(pauseMs, leftMs));
    this.#awaited = undefined;
    // The reported releases did not free the gate during the pause. The other stores may be free, so the next round
    // asks all stores at once.
    if (isGateBusy && !wasEnded) this.#hasGate = false;
  }

  /**
   * If the lock is contended, delays every request that is no single try, for about one round, and lets the request
   * begin at the gate. The delay is at most a quarter of the timeout, if there is one. Without the delay, a process
   * that has just released the lock would usually ask before the waiting requests hear of the release.
   */
  async #letOthersPass(): Promise<void> {
    const { clock, contended, settings } = this.#quorum;
    const { timeoutMs } = this.#limits;
    const roundMs = contended.roundMs(this.#request.name);
    if (roundMs === undefined || timeoutMs === 0) return;
    this.#hasGate = true;
    const { min, max } = settings.pollMs;
    await this.#sleep(Math.min(timeoutMs / 4, Math.min(max, min + roundMs) * (0.5 + clock.chance.number())));
  }

  /** Resolves with whether `#endPause` has ended the sleep early. */
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
      store.watch(this.#request.name, {
        changed: (words) => {
          this.#changed(words);
        },
      }),
    );
  }

  /** Whether one process has seats in a majority of the stores. As long as it has them, no round can win. */
  #isHeldByOneProcess(): boolean {
    const counts = new Map<string, number>();
    for (const holders of this.#rounds.obstacles.busyStores.values()) {
      for (const process of new Set(holders.map((holder) => holder.process))) {
        counts.set(process, (counts.get(process) ?? 0) + 1);
      }
    }
    return Math.max(0, ...counts.values()) >= this.#quorum.majority;
  }

  /**
   * After a busy gate: whether the gate is free now, and any store that a late answer of an earlier round showed as
   * busy. Otherwise: whether a majority of the stores is free now.
   */
  #mayBeFree(): boolean {
    const { majority, health, stores } = this.#quorum;
    if (this.#rounds.obstacles.isGateBusy) return [...(this.#awaited?.keys() ?? [])].every(this.#isFree);
    return stores.filter((store) => health.mayGrant(store) && this.#isFree(store)).length >= majority;
  }

  /**
   * A store is free if the lock was not busy there, or if all leases that the store named are reported as released. A
   * busy store that named no lease does not count as free.
   */
  readonly #isFree = (store: Store): boolean => {
    const holders = this.#awaited?.get(store);
    if (holders === undefined) return true;
    return holders.length > 0 && holders.every(({ id }) => this.#releasedIds.has(id));
  };

  #changed(words: readonly string[] | null): void {
    for (const word of words ?? []) {
      const id = idGivenBack(word);
      if (id !== undefined) this.#releasedIds.add(id);
    }
    if (this.#awaited !== undefined && (words === null || this.#mayBeFree())) this.#endPause();
  }
}

/** The error names each process once, although a process may have leases in several stores. */
function onePerProcess(holders: readonly LeaseInfo[]): readonly LeaseInfo[] {
  const byProcess = new Map(holders.map((holder) => [holder.process, holder]));
  return [...byProcess.values()];
}
