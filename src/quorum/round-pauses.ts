import { Backoff } from '../backoff.js';
import type { LeaseInfo } from '../protocol/replies/snapshot.js';
import { idGivenBack } from '../protocol/wake.js';
import type { Quorum } from './quorum.js';
import { isHeldByOneProcess } from './round-tally.js';
import type { Obstacles } from './round-tally.js';
import type { Store } from './store.js';

interface PausingRequest {
  readonly name: string;
  /** 0 for a single try. */
  readonly timeoutMs: number;
  obstacles(): Obstacles;
}

/**
 * The pauses of one request between its rounds: how long each pause lasts, and what ends the pause early.
 *
 * The obstacle decides what ends a pause:
 *
 * - _The gate is busy_: the holder or an earlier contender has the seat at the gate. The pause ends when that seat is
 *   released, and the next round asks the gate again. The process that has the seat may have died. So, if the reported
 *   releases do not free the gate within the bound of the pause, the next round has no gate.
 * - _Held_: the gate is not busy, and one process has seats in a majority of the stores. The pause ends when the
 *   reported releases leave a majority of the stores free.
 * - _Any other obstacle_, mostly a split vote: only time ends the pause, and its length is random. Otherwise,
 *   contenders that release their seats would wake each other, and collide again and again. The longest length doubles
 *   with each such pause, up to `pollMs.max`, and halves with each pause of the kind _Held_.
 *
 * A pause of the first two kinds also ends when a change stream may have missed an event, and has a bound. The bound
 * grows from pause to pause, up to `pollMs.max`.
 */
export class RoundPauses {
  readonly #quorum: Quorum;
  readonly #request: PausingRequest;
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
  #hasGate = false;

  constructor(quorum: Quorum, request: PausingRequest) {
    this.#quorum = quorum;
    this.#request = request;
  }

  /** Whether the next round has a gate. */
  get hasGate(): boolean {
    return this.#hasGate;
  }

  roundBegins(): void {
    this.#releasedIds.clear();
  }

  /** @param mostMs - The longest time of this pause, in ms; `Infinity`: only the kind of the pause bounds it. */
  async pause(mostMs: number): Promise<void> {
    const { clock, majority, settings } = this.#quorum;
    const { min, max } = settings.pollMs;
    // The pauses of a single try are too short to be worth a change stream.
    if (this.#request.timeoutMs > 0) this.#watch();
    const backoff = new Backoff(min, max);
    let pauseMs: number;
    this.#hasGate = true;
    const obstacles = this.#request.obstacles();
    const { busyStores, isGateBusy } = obstacles;
    if (isGateBusy || isHeldByOneProcess(obstacles, majority)) {
      this.#awaited = busyStores;
      if (this.#mayBeFree()) return;
      pauseMs = backoff.pauseMs(clock, this.#heldPauses);
      this.#heldPauses += 1;
      if (!isGateBusy) this.#splitVotes = Math.max(0, this.#splitVotes - 1);
    } else {
      this.#awaited = undefined;
      pauseMs = backoff.longestMs(this.#splitVotes) * clock.chance.number();
      this.#splitVotes += 1;
    }
    const wasEnded = await this.#sleep(Math.min(pauseMs, mostMs));
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
  async letOthersPass(): Promise<void> {
    const { clock, contended, settings } = this.#quorum;
    const { name, timeoutMs } = this.#request;
    const roundMs = contended.roundMs(name);
    if (roundMs === undefined || timeoutMs === 0) return;
    this.#hasGate = true;
    const { min, max } = settings.pollMs;
    await this.#sleep(Math.min(timeoutMs / 4, Math.min(max, min + roundMs) * (0.5 + clock.chance.number())));
  }

  /** Ends the present pause, if there is one. */
  end(): void {
    this.#endPause();
  }

  /** Called when the request is over. */
  unwatch(): void {
    for (const unwatch of this.#unwatch) unwatch();
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

  /**
   * After a busy gate: whether the gate is free now, and any store that a late answer of an earlier round showed as
   * busy. Otherwise: whether a majority of the stores is free now.
   */
  #mayBeFree(): boolean {
    const { majority, health, stores } = this.#quorum;
    if (this.#request.obstacles().isGateBusy) return [...(this.#awaited?.keys() ?? [])].every(this.#isFree);
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
