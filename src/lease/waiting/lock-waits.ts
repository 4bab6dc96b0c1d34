import { after } from '../../clock.js';
import type { Clock, Moment } from '../../clock.js';
import { CorruptLockDocumentError } from '../../errors.js';
import { leftMs } from '../../protocol/lock-document.js';
import { fateOf } from '../../protocol/replies/reply.js';
import type { Place, Reply } from '../../protocol/replies/reply.js';
import type { Answer, Combiner } from '../../store/updates/combiner.js';
import type { Outcome } from '../../store/outcome.js';
import { isTooLarge } from '../../store/updates/refusal.js';
import { newNonce } from '../ids.js';
import { deadlineBefore, deadlineOf, leavesEnough } from '../deadline.js';
import type { QueuePosition } from './wakeup-policy.js';
import { LookSchedule } from './look-schedule.js';
import type { LookLimiter } from './look-limiter.js';
import type { Wait } from './wait.js';

/** What is known of one wait. */
interface Known {
  readonly wait: Wait;
  queuedAtMs: number;
  /** The fence in the last reply that showed it queued: older grants are not for this wait (S3). */
  floor: number;
  /** The highest token heard before the reply to its own request. */
  heard: number;
  /** Told to look again before that reply. */
  mustLook: boolean;
  /** When the place in the queue lapses: the last word of the server, counted from before the asking. */
  aliveUntil: Moment;
  place: number;
}

const LONG_AGO: Moment = { ms: -Infinity, wallAheadMs: 0 };

/** Who hears what becomes of the waits of one lock. */
interface LockWaitsListener {
  /** A wait leaves the lock, and is told why after this. */
  ended(wait: Wait, isGranted: boolean): void;
  /** Their queue moves, or one of them has come to it. */
  moved(): void;
}

/**
 * All waits of this process for one lock, of which there may be thousands: they look together, by one update, and
 * nothing that concerns one of them goes through all of them.
 *
 * A look is a transition that extends this process's own places. It surely writes, so its answer is the majority's; it
 * also drops the dead and seats whoever may enter, so a timer needs no other update. Looks happen every third of a
 * lease; when the earliest lease in the way runs out (the head at once, the others a little later by their place); and
 * when the room says so.
 */
export class LockWaits {
  readonly name: string;
  readonly #combiner: Combiner;
  readonly #clock: Clock;
  readonly #listener: LockWaitsListener;
  readonly #looks: LookLimiter;
  readonly #waits = new Map<string, Known>();
  /** Those that a reply has shown in the queue, in that order. The requests of the others are still on their way. */
  readonly #queued = new Set<Known>();
  /** The one of them with the lowest place, as far as is known. */
  #first: Known | undefined;
  readonly #times: LookSchedule;
  readonly #lookNow = (): Promise<void> => this.#look();
  #isLooking = false;
  #mustLookAgain = false;
  #waiters = 0;
  #movedAtMs = -Infinity;

  constructor(
    name: string,
    combiner: Combiner,
    clock: Clock,
    looks: LookLimiter,
    listener: LockWaitsListener,
  ) {
    this.name = name;
    this.#combiner = combiner;
    this.#clock = clock;
    this.#looks = looks;
    this.#listener = listener;
    this.#times = new LookSchedule(clock, () => {
      this.look();
    });
  }

  get isEmpty(): boolean {
    return this.#waits.size === 0;
  }

  get hasQueued(): boolean {
    return this.#queued.size > 0;
  }

  get standing(): QueuePosition {
    const place = this.#first?.place ?? Infinity;
    return { place, waiters: this.#waiters, movedAtMs: this.#movedAtMs };
  }

  has(id: string): boolean {
    return this.#waits.has(id);
  }

  add(wait: Wait): void {
    if (this.#waits.has(wait.id)) return;
    this.#waits.set(wait.id, {
      wait,
      queuedAtMs: Infinity,
      floor: 0,
      heard: 0,
      mustLook: false,
      aliveUntil: LONG_AGO,
      place: Infinity,
    });
  }

  remove(id: string): void {
    const known = this.#waits.get(id);
    if (known === undefined) return;
    this.#waits.delete(id);
    this.#queued.delete(known);
    if (this.#first === known) [this.#first] = this.#queued;
    if (!this.hasQueued) this.close();
  }

  /** The reply to its own request showed the attempt in the queue. `mustLook`: events may have been missed since. */
  queued(id: string, place: Place, reply: Reply, sentAt: Moment, mustLook: boolean): void {
    const known = this.#waits.get(id);
    if (known === undefined) return;
    this.#queued.add(known);
    known.queuedAtMs = this.#clock.nowMs();
    this.#update(known, place, reply, sentAt);
    if (known.heard > known.floor) this.#grantHeard(known, known.heard);
    else if (mustLook || known.mustLook) this.look();
    else this.#schedule();
  }

  /** An event: this attempt was granted with this token; 0: look again. */
  woken(id: string, token: number): void {
    const known = this.#waits.get(id);
    if (known === undefined) return;
    if (!this.#queued.has(known)) {
      known.heard = Math.max(known.heard, token);
      known.mustLook ||= token === 0;
    } else if (token === 0) this.look();
    else if (token > known.floor) this.#grantHeard(known, token);
  }

  /** Some update or read of this process showed a lease of this attempt. True: it waited for that. */
  seated(id: string, token: number, aliveUntil: Moment): boolean {
    const known = this.#waits.get(id);
    if (known === undefined || !this.#queued.has(known) || token <= known.floor) return false;
    known.aliveUntil = aliveUntil;
    this.#grantHeard(known, token);
    return true;
  }

  /** A read showed this attempt as the first of this process, and so many waiters. */
  shown(id: string, place: number, waiters: number): void {
    const known = this.#waits.get(id);
    if (known === undefined || !this.#queued.has(known)) return;
    this.#waiters = waiters;
    // A read may be old, and queues only move on.
    if (place < known.place) this.#stands(known, place);
  }

  /** A read, asked then, showed these attempts. Looks if somebody who waited before is not among them. */
  lookUnless(shown: readonly string[], askedAt: Moment): void {
    const ids = new Set(shown);
    for (const { wait, queuedAtMs } of this.#queued) {
      if (queuedAtMs >= askedAt.ms || ids.has(wait.id)) continue;
      this.look();
      return;
    }
  }

  look(): void {
    // A look that is on its way was asked before what calls for this one, and does not count.
    this.#mustLookAgain = this.#isLooking;
    if (!this.#isLooking && this.hasQueued) this.#looks.want(this.#lookNow);
  }

  fail(error: unknown, waits: Iterable<Known> = this.#queued): void {
    for (const known of [...waits]) {
      const { wait } = known;
      if (this.#waits.get(wait.id) !== known) continue;
      this.#end(wait, false, () => {
        wait.failed(error);
      });
    }
  }

  close(): void {
    this.#times.cancel();
    this.#looks.forget(this.#lookNow);
  }

  /** A grant by event carries no time of its own: it lasts as long as the place it came from. */
  #grantHeard(known: Known, token: number): void {
    const { wait, aliveUntil } = known;
    const deadline = deadlineBefore(aliveUntil, wait.terms);
    // The look extends the seat, and its answer tells whether the seat is still there.
    if (!leavesEnough(deadline, this.#clock, wait.terms)) this.look();
    else
      this.#end(wait, true, () => {
        wait.granted(token, deadline);
      });
  }

  #end(wait: Wait, isGranted: boolean, tell: () => void): void {
    this.remove(wait.id);
    this.#schedule();
    this.#listener.ended(wait, isGranted);
    if (isGranted && this.hasQueued) this.#moved();
    tell();
  }

  #moved(): void {
    this.#movedAtMs = this.#clock.nowMs();
    this.#listener.moved();
  }

  #stands(known: Known, place: number): void {
    const isCloser = place < known.place;
    known.place = place;
    if (this.#first === undefined || place < this.#first.place) this.#first = known;
    if (isCloser) this.#moved();
  }

  #update(known: Known, place: Place, reply: Reply, sentAt: Moment): void {
    known.floor = Math.max(known.floor, reply.fence);
    const { terms } = known.wait;
    const aliveUntil = after(sentAt, leftMs(place.expiresAt, reply.nowMs, terms.leaseMs));
    if (aliveUntil.ms > known.aliveUntil.ms) known.aliveUntil = aliveUntil;
    this.#waiters = reply.waiters;
    this.#stands(known, place.place);
    this.#times.extendAt(sentAt.ms + terms.leaseMs / 3);
    if (this.#first === known) {
      const inTheWayMs = reply.earliestMs === null ? Infinity : reply.earliestMs - reply.nowMs;
      this.#times.expiryAt(this.#clock.nowMs() + inTheWayMs, known.place);
    }
    known.wait.placed(known.place, reply);
  }

  #schedule(): void {
    if (this.hasQueued && !this.#isLooking) this.#times.arm();
    else this.#times.cancel();
  }

  async #look(): Promise<void> {
    const asked = [...this.#queued];
    const [first] = asked;
    if (first === undefined) return;
    this.#isLooking = true;
    const { seats } = first.wait;
    const ids = asked.map(({ wait }) => wait.id);
    let [leaseMs, retentionMs] = [0, 0];
    for (const { wait } of asked) {
      leaseMs = Math.max(leaseMs, wait.terms.leaseMs);
      retentionMs = Math.max(retentionMs, wait.terms.retentionMs);
    }
    this.#times.restart();
    const operation = { type: 'extend', ids, leaseMs, retentionMs, nonce: newNonce() } as const;
    try {
      this.#looked(asked, await this.#combiner.submit(this.name, seats, operation).outcome);
    } finally {
      this.#isLooking = false;
      if (this.#mustLookAgain) this.look();
      else this.#schedule();
    }
  }

  #looked(asked: readonly Known[], outcome: Outcome<Answer>): void {
    // A document that is full takes no look's word until somebody leaves.
    if (outcome.type === 'refused' && !isTooLarge(outcome.error)) {
      this.fail(outcome.error);
      return;
    }
    if (outcome.type !== 'done') {
      this.#times.unanswered();
      return;
    }
    this.#times.answered();
    const { reply } = outcome.value;
    if (reply?.sound === false) {
      this.fail(new CorruptLockDocumentError(this.name), asked);
      return;
    }
    for (const known of asked) {
      // Granted meanwhile, or not wanted any more: what was asked before does not take that back.
      if (this.#waits.get(known.wait.id) !== known) continue;
      const fate = reply === null ? undefined : fateOf(reply, known.wait.id);
      if (reply !== null && fate?.type === 'queued') {
        this.#update(known, fate.place, reply, outcome.sentAt);
      } else if (reply !== null && fate?.type === 'granted') {
        // Just extended, so whatever is left is all there is to be had.
        const { lease } = fate;
        const deadline = deadlineOf(lease, reply.nowMs, outcome.sentAt, known.wait.terms);
        this.#end(known.wait, true, () => {
          known.wait.granted(lease.token, deadline);
        });
      } else {
        this.#end(known.wait, false, () => {
          known.wait.lapsed();
        });
      }
    }
  }
}
