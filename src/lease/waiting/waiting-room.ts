import type { Clock, Moment, Timer } from '../../clock.js';
import { UnsupportedServerError } from '../../errors.js';
import type { Poll } from '../../protocol/pipeline/extension.js';
import { storedLeaseMs } from '../../options/provider-options.js';
import type { Lease } from '../../protocol/lock-document.js';
import { OTHERS_WAIT, readWakeWord } from '../../protocol/wake.js';
import type { Place, Reply } from '../../protocol/replies/reply.js';
import type { Seats } from '../../protocol/seats.js';
import type { Answer, Combiner } from '../../store/updates/combiner.js';
import type { WakeListener } from '../../store/streams/wake-stream.js';
import { LockWaits } from './lock-waits.js';
import type { Wait } from './wait.js';
import { earliestEnd } from '../deadline.js';
import { wakeupModeFor } from './wakeup-policy.js';
import type { WakeupMode } from './wakeup-policy.js';
import { LookLimiter } from './look-limiter.js';

/** What wakes the room up: the change stream, or polls. */
export interface Wakeups {
  /** Since when events arrive without a gap; infinitely late if they do not. */
  readonly openedAtMs: number;
  readonly isPolling: boolean;
  /** Whether anybody listens; if nobody does, how soon they close. */
  listen(listening: boolean, lingerMs?: number): void;
}

/** Where nobody listens, or there is no change stream. */
export interface Polls {
  /** Somebody began to wait, or waits in another way than before. */
  hurry(): void;
}

/** Whom wake-ups concern that nobody here waits for. */
export interface UnmatchedWakeups {
  /** A grant for an attempt that ended without one: it has to be given back. */
  onUnclaimed(name: string, seats: Seats, id: string, leaseMs: number): void;
  /** This attempt, which does not wait, should look at its lease. */
  onTold(id: string): void;
  /** Somebody waits behind a lease of this process that it may keep between its callers. */
  onOthersWait(name: string): void;
  /** The collection was dropped or renamed. */
  onVanished(): void;
}

/** How many attempts that ended without a lock are remembered, so that a grant that comes late is given back. */
const MAX_REMEMBERED = 4_096;

/** What is remembered of an attempt that ended without a lock. */
interface Ended {
  readonly seats: Seats;
  readonly leaseMs: number;
}

/** Everything this process waits for: one lock per lock, and whatever wakes them. */
export class WaitingRoom implements WakeListener {
  readonly #combiner: Combiner;
  readonly #process: string;
  readonly #wakeIdleMs: number;
  readonly #clock: Clock;
  readonly #outside: UnmatchedWakeups;
  readonly #looks = new LookLimiter();
  readonly #locks = new Map<string, LockWaits>();
  readonly #queued = new Set<string>();
  readonly #ended = new Map<string, Ended>();
  #wakeups!: Wakeups;
  #polls!: Polls;
  /** As it was decided last; `undefined`: nobody waits. */
  #attention: WakeupMode | undefined;
  #isKeeping = false;
  #timer: Timer | undefined;

  constructor(
    combiner: Combiner,
    process: string,
    wakeIdleMs: number,
    clock: Clock,
    outside: UnmatchedWakeups,
  ) {
    this.#combiner = combiner;
    this.#process = process;
    this.#wakeIdleMs = wakeIdleMs;
    this.#clock = clock;
    this.#outside = outside;
  }

  /** Where wake-ups come from. They know the room, so they are made after it. */
  wakeBy(wakeups: Wakeups, polls: Polls): void {
    this.#wakeups = wakeups;
    this.#polls = polls;
  }

  /** Whether this process keeps seats: whoever has to wait behind them tells it by the stream. */
  keeping(isKeeping: boolean): void {
    this.#isKeeping = isKeeping;
    this.#decide();
  }

  /** Since when wake-ups arrive without a gap. */
  get hearingSinceMs(): number {
    return this.#wakeups.openedAtMs;
  }

  /** The locks that have to be read: those that somebody here is queued for, while no stream tells of them. */
  get namesToPoll(): readonly string[] {
    return this.isToPoll ? [...this.#queued] : [];
  }

  /** Whether there are any. */
  get isToPoll(): boolean {
    return this.#queued.size > 0 && (this.#wakeups.isPolling || this.#attention?.type === 'far');
  }

  /** When they are read, in every second of the server's clock; `undefined`: again and again. */
  get phaseMs(): number | undefined {
    return this.#wakeups.isPolling || this.#attention?.type !== 'far' ? undefined : this.#attention.phaseMs;
  }

  /** They have been read. If nothing has moved, there is nothing to listen to. */
  polled(): void {
    if (this.#attention?.type === 'far' && this.#decide()?.type === 'far') this.#wakeups.listen(false, 0);
  }

  /** Registers an attempt before its request is sent: its grant may be heard before the reply (L2). */
  enter(wait: Wait): void {
    let lock = this.#locks.get(wait.name);
    if (lock === undefined) {
      lock = new LockWaits(wait.name, this.#combiner, this.#clock, this.#looks, {
        ended: (ended, isGranted) => {
          this.#left(ended, !isGranted);
        },
        moved: () => {
          if (this.#attention?.type !== 'near') this.#decide();
        },
      });
      this.#locks.set(wait.name, lock);
    }
    lock.add(wait);
  }

  /** The attempt does not wait any more. `remember`: it has no seat either, so a grant heard later is given back. */
  leave(wait: Wait, remember: boolean): void {
    this.#locks.get(wait.name)?.remove(wait.id);
    this.#left(wait, remember);
  }

  /** The reply to its own request showed the attempt in the queue. */
  queued({ name, id }: Wait, place: Place, reply: Reply, sentAt: Moment): void {
    const lock = this.#locks.get(name);
    if (lock?.has(id) !== true) return;
    // Asked before the stream was there, answered after its opening look: what came between was heard by nobody.
    const { openedAtMs } = this.#wakeups;
    const isBetween = sentAt.ms < openedAtMs && openedAtMs < Infinity;
    this.#queued.add(name);
    lock.queued(id, place, reply, sentAt, isBetween);
    if (this.#wakeups.isPolling) this.#polls.hurry();
  }

  /** What any update of this process left behind may concern those who wait here. */
  answered(name: string, { reply, wake }: Answer, sentAt: Moment): void {
    if (reply?.sound === true) this.#seated(name, reply.leases, reply.nowMs, sentAt);
    for (const word of wake) {
      const told = readWakeWord(this.#process, word);
      if (told === undefined) continue;
      // Who asked a holder of this process to look again sees to it.
      if (told.token !== 0 || this.#locks.get(name)?.has(told.id) === true) {
        this.onWoken(name, told.id, told.token);
      }
    }
  }

  /** A majority's read, asked then, showed these leases of this process. True: somebody waited for one of them. */
  seen({ name, leases, nowMs, waiting, place, waiters }: Poll, sentAt: Moment): boolean {
    const isAwaited = this.#seated(name, leases, nowMs, sentAt);
    const lock = this.#locks.get(name);
    const [first] = waiting;
    if (first !== undefined) lock?.shown(first, place, waiters);
    lock?.lookUnless([...waiting, ...leases.map(({ id }) => id)], sentAt);
    return isAwaited;
  }

  /** A majority's read, asked then, showed no such document. */
  missed(name: string, askedAt: Moment): void {
    this.#locks.get(name)?.lookUnless([], askedAt);
  }

  onWoken(name: string, id: string, token: number): void {
    if (token === OTHERS_WAIT) {
      this.#outside.onOthersWait(name);
      return;
    }
    // Whoever waits for an upgrade has a lease, too, that may have been asked for.
    if (token === 0) this.#outside.onTold(id);
    const lock = this.#locks.get(name);
    if (lock?.has(id) === true) lock.woken(id, token);
    else if (token > 0) this.#giveBackEnded(name, id);
  }

  onOpened(): void {
    for (const lock of this.#locks.values()) lock.look();
  }

  onBlind(): void {
    this.#polls.hurry();
  }

  onVanished(): void {
    this.#outside.onVanished();
    this.onOpened();
  }

  refusedByDriver(): void {
    this.onOpened();
  }

  impossible(error: unknown): void {
    const why = error instanceof Error ? error.message : String(error);
    const detail = `The option wakeups demands a change stream, and there is none: ${why}`;
    for (const lock of [...this.#locks.values()]) {
      lock.fail(new UnsupportedServerError(lock.name, detail, error));
    }
  }

  close(): void {
    this.#timer?.cancel();
    for (const lock of this.#locks.values()) lock.close();
    this.#locks.clear();
    this.#queued.clear();
    this.#ended.clear();
  }

  #seated(name: string, leases: readonly Lease[], nowMs: number, sentAt: Moment): boolean {
    const lock = this.#locks.get(name);
    let isAwaited = false;
    for (const lease of leases) {
      const { id, token } = lease;
      const aliveUntil = earliestEnd(lease, nowMs, sentAt);
      if (lock?.has(id) === true) isAwaited = lock.seated(id, token, aliveUntil) || isAwaited;
      else this.#giveBackEnded(name, id);
    }
    return isAwaited;
  }

  #giveBackEnded(name: string, id: string): void {
    const ended = this.#ended.get(id);
    if (ended === undefined) return;
    this.#ended.delete(id);
    this.#outside.onUnclaimed(name, ended.seats, id, ended.leaseMs);
  }

  #left({ name, id, seats, terms, hasLease }: Wait, remember: boolean): void {
    const lock = this.#locks.get(name);
    if (lock?.isEmpty === true) this.#locks.delete(name);
    if (lock?.hasQueued !== true) this.#queued.delete(name);
    if (remember && !hasLease) this.#remember(id, { seats, leaseMs: storedLeaseMs(terms) });
    if (this.#queued.size === 0) this.#decide();
  }

  #remember(id: string, ended: Ended): void {
    this.#ended.set(id, ended);
    if (this.#ended.size <= MAX_REMEMBERED) return;
    const [oldest = id] = this.#ended.keys();
    this.#ended.delete(oldest);
  }

  /**
   * Who is near listens at once. Who becomes far goes on listening until a read has shown that nothing has moved: in a
   * long queue, a waiter hears of movement only by asking.
   */
  #decide(): WakeupMode | undefined {
    this.#timer?.cancel();
    const standings = [...this.#queued].flatMap((name) => this.#locks.get(name)?.standing ?? []);
    const attention: WakeupMode | undefined = this.#isKeeping
      ? { type: 'near', untilMs: Infinity }
      : wakeupModeFor(standings, this.#wakeIdleMs, this.#clock.nowMs());
    this.#attention = attention;
    if (attention === undefined) this.#wakeups.listen(false);
    if (attention?.type === 'near') {
      this.#wakeups.listen(true);
      this.#timer = this.#clock.at(attention.untilMs, () => {
        this.#decide();
      });
    }
    if (!this.#wakeups.isPolling) this.#polls.hurry();
    return attention;
  }
}
