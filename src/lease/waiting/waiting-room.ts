// Folder `waiting`: keeps the places of waiting attempts alive, and finds out when an attempt is granted its seat: by
// the change stream, by polling or by looks. Several objects stand for one wait:
//
// - `Waiting` (wait.ts) describes the attempt; `Wait` adds the calls that tell the attempt its place and its end.
// - `TurnWait` (turn.ts) is the wait as the acquisition or the upgrade sees it: a promise of its end.
// - `TrackedWait` (tracked-wait.ts) knows which grants are for the wait, and when its place ends.
// - `LockWaits` (lock-waits.ts) has the tracked waits of one lock, sends their looks and ends them.
// - `WaitingRoom` has the waits of all locks, and passes each answer and each wake-up on.
// - `Listening` (listening.ts) decides for all waits together whether the process listens to its change stream.

import type { Clock, Moment } from '../../clock.js';
import { textOf } from '../../error-text.js';
import { UnsupportedServerError } from '../../errors.js';
import type { GrantNews, HeardBy } from '../../observer.js';
import type { Poll } from '../../protocol/pipeline/polls.js';
import { storedLeaseMs } from '../../options/provider-options.js';
import type { Lease } from '../../protocol/lock-document.js';
import { LOOK_AGAIN, OTHERS_WAIT, readWakeWords } from '../../protocol/wake.js';
import type { Place, Reply } from '../../protocol/replies/reply.js';
import type { KindRules } from '../../protocol/kind-rules.js';
import type { Answer, Combiner } from '../../store/updates/combiner.js';
import type { WakeListener } from '../../store/streams/wake-stream.js';
import { EndedAttempts } from './ended-attempts.js';
import { Listening } from './listening.js';
import type { Polls, WakeSource } from './listening.js';
import { LockWaits } from './lock-waits.js';
import type { Wait } from './wait.js';
import type { QueuePosition } from './wakeup-policy.js';
import { earliestEnd } from '../deadline.js';
import { LookLimiter } from './look-limiter.js';

/** Hears of wake-ups for ended attempts, for holds and for kept seats, and of missed events. */
export interface UnmatchedWakeups {
  /** An attempt that ended without a lock was granted a seat. The process must give the seat back. */
  onUnclaimed(name: string, rules: KindRules, id: string, leaseMs: number): void;
  /** If this attempt has a lease, the process must ask the server about that lease. */
  onAskedToConfirm(id: string): void;
  /**
   * A request of another process, or an upgrade, was not granted at once, or more permits are held than a new limit
   * allows. The process must give back its idle kept seats of this lock, and may pass on a seat in use only by bounded
   * passes.
   */
  onOthersWait(name: string): void;
  /** Events may have been missed. */
  onGap(): void;
  /** The collection was dropped or renamed. */
  onCollectionGone(): void;
}

/** Everything this process waits for, by lock. */
export class WaitingRoom implements WakeListener {
  readonly #combiner: Combiner;
  readonly #process: string;
  readonly #wakeIdleMs: number;
  readonly #clock: Clock;
  readonly #unmatched: UnmatchedWakeups;
  readonly #looks = new LookLimiter();
  readonly #locks = new Map<string, LockWaits>();
  readonly #queued = new Set<string>();
  readonly #ended = new EndedAttempts();
  #wakeups!: WakeSource;
  #polls!: Polls;
  #listening!: Listening;

  constructor(
    combiner: Combiner,
    process: string,
    wakeIdleMs: number,
    clock: Clock,
    unmatched: UnmatchedWakeups,
  ) {
    this.#combiner = combiner;
    this.#process = process;
    this.#wakeIdleMs = wakeIdleMs;
    this.#clock = clock;
    this.#unmatched = unmatched;
  }

  /** The stream and the poller need the room, so they are made after the room and set here. */
  connect(wakeups: WakeSource, polls: Polls): void {
    this.#wakeups = wakeups;
    this.#polls = polls;
    const positions = (): readonly QueuePosition[] =>
      [...this.#queued].flatMap((name) => this.#locks.get(name)?.position ?? []);
    this.#listening = new Listening(wakeups, polls, positions, this.#wakeIdleMs, this.#clock);
  }

  /**
   * Called when this process becomes a near keeper or stops being one. The wake stream tells a near keeper at once
   * that another process waits behind its seats.
   */
  setKeeperNear(isNear: boolean): void {
    this.#listening.setKeeperNear(isNear);
  }

  /** The locks that the poller must read: every lock that an attempt is queued for, while `isToPoll` is true. */
  get namesToPoll(): readonly string[] {
    return this.isToPoll ? [...this.#queued] : [];
  }

  /** Whether the poller has locks to read: an attempt is queued, and the process polls or is far. */
  get isToPoll(): boolean {
    return this.#queued.size > 0 && this.#listening.isReading;
  }

  /** See `Listening.phaseMs`. */
  get phaseMs(): number | undefined {
    return this.#listening.phaseMs;
  }

  /** Called when the poller has read all its locks. */
  polled(): void {
    this.#listening.placesRead();
  }

  /**
   * Registers an attempt before its request is sent, because an event may report the grant before the reply arrives
   * (L2).
   */
  enter(wait: Wait): void {
    let lock = this.#locks.get(wait.name);
    if (lock === undefined) {
      lock = new LockWaits(wait.name, this.#combiner, this.#clock, this.#looks, {
        ended: (ended, isGranted) => {
          this.#waitEnded(ended, !isGranted);
        },
        moved: () => {
          this.#listening.moved();
        },
      });
      this.#locks.set(wait.name, lock);
    }
    lock.add(wait);
  }

  /**
   * Called when the attempt waits no longer.
   *
   * @param remember - Whether the attempt ended without a seat, so that a grant which arrives later is given back.
   */
  leave(wait: Wait, remember: boolean): void {
    this.#locks.get(wait.name)?.remove(wait.id);
    this.#waitEnded(wait, remember);
  }

  /** Called when the reply to the attempt's own request showed the attempt in the queue, or its upgrade as pending. */
  queued({ name, id }: Wait, place: Place, reply: Reply, sentAt: Moment): void {
    const lock = this.#locks.get(name);
    if (lock?.has(id) !== true) return;
    // If the request was sent before the stream opened, this attempt needs its own look: the look at the opening did
    // not include the attempt, and no event reported what happened between the request and the opening.
    const { gaplessSinceMs } = this.#wakeups;
    const isBetween = sentAt.ms < gaplessSinceMs && gaplessSinceMs < Infinity;
    this.#queued.add(name);
    lock.queued(id, place, reply, sentAt, isBetween);
    if (this.#wakeups.isPolling) this.#polls.hurry();
  }

  /**
   * Called with the answer to an update that the combiner of this process has sent. Besides the result of that update,
   * the answer may show grants to other attempts.
   */
  answered(name: string, { reply, wake, nowMs }: Answer, sentAt: Moment): void {
    const words = [...readWakeWords(this.#process, wake)];
    if (reply?.isWellFormed === true) {
      const traces = new Map(words.map(({ id, handedBy }) => [id, handedBy]));
      this.#leasesSeen(name, reply.leases, reply.nowMs, sentAt, 'look', traces);
    }
    for (const { id, token, handedBy } of words) {
      // For a hold, `LOOK_AGAIN` reports a revocation of its lease or a call for a run. This process has sent that
      // revocation or call itself, and tells its own holds directly.
      if (token !== LOOK_AGAIN || this.#locks.get(name)?.has(id) === true) {
        this.onWoken(name, id, token, { grantedAtMs: nowMs, handedBy });
      }
    }
  }

  /**
   * Called when a majority read showed these leases of this process. Returns whether one of the leases is a grant that
   * an attempt waited for.
   */
  seen({ name, leases, nowMs, waiting, place, waiters }: Poll, sentAt: Moment): boolean {
    const isAwaited = this.#leasesSeen(name, leases, nowMs, sentAt, 'poll');
    const lock = this.#locks.get(name);
    const [first] = waiting;
    if (first !== undefined) lock?.placeRead(first, place, waiters);
    lock?.lookIfMissing([...waiting, ...leases.map(({ id }) => id)], sentAt);
    return isAwaited;
  }

  /** Called when a majority read, sent at `sentAt`, found no document of this name. */
  missed(name: string, sentAt: Moment): void {
    this.#locks.get(name)?.lookIfMissing([], sentAt);
  }

  onWoken(name: string, id: string, token: number, news: GrantNews): void {
    if (token === OTHERS_WAIT) {
      this.#unmatched.onOthersWait(name);
      return;
    }
    // No return here: an attempt that waits for an upgrade also has a lease. So the lease is confirmed, and the waiting
    // attempt is woken below.
    if (token === LOOK_AGAIN) this.#unmatched.onAskedToConfirm(id);
    const lock = this.#locks.get(name);
    if (lock?.has(id) === true) lock.woken(id, token, news);
    else if (token > LOOK_AGAIN) this.#giveBackEnded(name, id);
  }

  onGap(): void {
    for (const lock of this.#locks.values()) lock.look();
    this.#unmatched.onGap();
  }

  onNoStream(): void {
    this.#polls.hurry();
  }

  onCollectionGone(): void {
    this.#unmatched.onCollectionGone();
    this.onGap();
  }

  refusedByDriver(): void {
    this.onGap();
  }

  streamRequiredButRefused(error: unknown): void {
    const detail = `The option wakeups: 'change-stream' needs a change stream, and none can be opened: ${textOf(error)}`;
    for (const lock of [...this.#locks.values()]) {
      lock.fail(new UnsupportedServerError(lock.name, detail, error));
    }
  }

  close(): void {
    this.#listening.close();
    for (const lock of this.#locks.values()) lock.close();
    this.#locks.clear();
    this.#queued.clear();
    this.#ended.clear();
  }

  /**
   * @param traces - For attempts that the same update has granted: the trace contexts of the leases that it gave back.
   */
  #leasesSeen(
    name: string,
    leases: readonly Lease[],
    nowMs: number,
    sentAt: Moment,
    by: HeardBy,
    traces?: ReadonlyMap<string, readonly string[]>,
  ): boolean {
    const lock = this.#locks.get(name);
    let isAwaited = false;
    for (const lease of leases) {
      const { id, token } = lease;
      const heard = { by, grantedAtMs: lease.acquiredAt.getTime(), handedBy: traces?.get(id) ?? [] };
      const endsAt = earliestEnd(lease, nowMs, sentAt);
      if (lock?.has(id) === true) isAwaited = lock.leaseSeen(id, token, endsAt, heard) || isAwaited;
      else this.#giveBackEnded(name, id);
    }
    return isAwaited;
  }

  #giveBackEnded(name: string, id: string): void {
    const ended = this.#ended.take(id);
    if (ended !== undefined) this.#unmatched.onUnclaimed(name, ended.rules, id, ended.leaseMs);
  }

  #waitEnded({ name, id, rules, durations, hasLease }: Wait, remember: boolean): void {
    const lock = this.#locks.get(name);
    if (lock?.isEmpty === true) this.#locks.delete(name);
    if (lock?.hasQueued !== true && this.#queued.delete(name)) this.#listening.linger();
    if (remember && !hasLease) this.#ended.add(id, { rules, leaseMs: storedLeaseMs(durations) });
    if (this.#queued.size === 0) this.#listening.decide();
  }
}
