import { withCallerFrames } from '../caller-frames.js';
import { AcquireTimeoutError } from '../errors.js';
import type { LeaseholdError } from '../leasehold-error.js';
import { newAttemptId } from '../lease/ids.js';
import type { LeaseInfo } from '../protocol/replies/snapshot.js';
import { Scope } from '../scope.js';
import type { CallLimits } from '../scope.js';
import { QuorumRounds } from './quorum-rounds.js';
import { QuorumError } from './quorum-error.js';
import type { QuorumHold } from './quorum-hold.js';
import type { Quorum } from './quorum.js';
import { RoundPauses } from './round-pauses.js';
import { isHeldByOneProcess } from './round-tally.js';
import { describeFailures, isForGood } from './store-failure.js';
import type { SeatRequest } from './store.js';

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
 * One call of acquire: rounds with pauses between them, until a round wins or the request fails.
 *
 * There is no queue, because queues in several stores deadlock: each contender could be at the head of the queue in one
 * store, and no contender at the head in a majority. After a round without a majority, the request releases its seats
 * and pauses (`RoundPauses`).
 */
export class QuorumAcquisition {
  readonly #quorum: Quorum;
  readonly #request: SeatRequest;
  readonly #limits: CallLimits;
  readonly #rounds: QuorumRounds;
  readonly #pauses: RoundPauses;
  #roundCount = 0;
  #over: Failed | undefined;
  #fail!: (failed: Failed) => void;

  constructor(quorum: Quorum, request: SeatRequest, limits: CallLimits) {
    this.#quorum = quorum;
    this.#request = request;
    this.#limits = limits;
    this.#rounds = new QuorumRounds(quorum, request);
    this.#pauses = new RoundPauses(quorum, {
      name: request.name,
      timeoutMs: limits.timeoutMs,
      obstacles: () => this.#rounds.obstacles,
    });
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
      this.#pauses.unwatch();
    }
  }

  async #runRounds(): Promise<QuorumHold | Failed> {
    const { clock, contended } = this.#quorum;
    await this.#pauses.letOthersPass();
    for (;;) {
      const over = this.#whyOver();
      if (over !== undefined) return over;
      this.#pauses.roundBegins();
      const beganMs = clock.nowMs();
      const hold = await this.#rounds.run(this.#pauses.hasGate);
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
      await this.#pauses.pause(Math.max(0, this.#lastRoundMs - clock.nowMs()));
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
    if (!hasMajority || isSlow || isHeldByOneProcess(this.#rounds.obstacles, majority)) return false;
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
    this.#pauses.end();
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
}

/** The error names each process once, although a process may have leases in several stores. */
function onePerProcess(holders: readonly LeaseInfo[]): readonly LeaseInfo[] {
  const byProcess = new Map(holders.map((holder) => [holder.process, holder]));
  return [...byProcess.values()];
}
