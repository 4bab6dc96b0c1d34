import { after } from '../clock.js';
import type { Clock, Moment, Timer } from '../clock.js';
import type { LeaseTerms } from '../options/provider-options.js';
import { leftMs } from '../protocol/lock-document.js';
import { fateOf } from '../protocol/reply.js';
import type { Place, Reply } from '../protocol/reply.js';
import type { Seats } from '../protocol/seats.js';
import type { Answer, Combiner } from '../store/combiner.js';
import type { Outcome } from '../store/outcome.js';
import { newNonce } from './attempt.js';

/** One attempt that waits. It is told once how its wait ended, by `granted`, `lapsed` or `failed`. */
export interface Wait {
  readonly name: string;
  readonly seats: Seats;
  readonly id: string;
  readonly terms: LeaseTerms;
  /** Whether it waits with a lease, for more: then what is granted after its end is no leftover to be given back. */
  readonly hasLease: boolean;
  granted(token: number, deadline: Moment): void;
  /** The place in the queue is gone: the attempt has to be made anew, under a new id. */
  lapsed(): void;
  failed(error: unknown): void;
  /** Where it stands, after each look. */
  placed(place: number, reply: Reply): void;
}

/** What is known of one wait. */
interface Known {
  readonly wait: Wait;
  /** Until a reply has shown the attempt in the queue, its own request is still on its way. */
  isQueued: boolean;
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

/** How much later than the head the next in line takes its look, and the most that anybody adds. */
const SECOND_LOOK_MS = 150;
const LAST_LOOK_MS = 2_000;

const LONG_AGO: Moment = { ms: -Infinity, wallAheadMs: 0 };

/** Between two looks that nobody answered. */
const FIRST_RETRY_MS = 50;
const MAX_RETRY_MS = 1_000;

/**
 * All waits of this process for one lock: they look together, by one update.
 *
 * A look is a transition that extends this process's own places. It surely writes, so its answer is the majority's; it
 * also drops the dead and seats whoever may enter, so a timer needs no other update. Looks happen every third of a
 * lease; when the earliest lease in the way runs out (the head at once, the others a little later by their place); and
 * when the room says so.
 */
export class Bench {
  readonly name: string;
  readonly #combiner: Combiner;
  readonly #clock: Clock;
  readonly #onEnded: (wait: Wait, isGranted: boolean) => void;
  readonly #waits = new Map<string, Known>();
  #extendAtMs = Infinity;
  #expiryAtMs = Infinity;
  #retryAtMs = Infinity;
  #failures = 0;
  #isLooking = false;
  #mustLookAgain = false;
  #timer: Timer | undefined;

  /** @param onEnded - Hears of every wait that leaves the bench, before the wait itself is told why. */
  constructor(
    name: string,
    combiner: Combiner,
    clock: Clock,
    onEnded: (wait: Wait, isGranted: boolean) => void,
  ) {
    this.name = name;
    this.#combiner = combiner;
    this.#clock = clock;
    this.#onEnded = onEnded;
  }

  get isEmpty(): boolean {
    return this.#waits.size === 0;
  }

  get hasQueued(): boolean {
    for (const { isQueued } of this.#waits.values()) if (isQueued) return true;
    return false;
  }

  has(id: string): boolean {
    return this.#waits.has(id);
  }

  add(wait: Wait): void {
    if (this.#waits.has(wait.id)) return;
    const known = {
      wait,
      isQueued: false,
      queuedAtMs: Infinity,
      floor: 0,
      heard: 0,
      mustLook: false,
      aliveUntil: LONG_AGO,
      place: 0,
    };
    this.#waits.set(wait.id, known);
  }

  remove(id: string): void {
    this.#waits.delete(id);
    if (!this.hasQueued) this.close();
  }

  /** The reply to its own request showed the attempt in the queue. `mustLook`: events may have been missed since. */
  queued(id: string, place: Place, reply: Reply, sentAt: Moment, mustLook: boolean): void {
    const known = this.#waits.get(id);
    if (known === undefined) return;
    known.isQueued = true;
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
    if (!known.isQueued) {
      known.heard = Math.max(known.heard, token);
      known.mustLook ||= token === 0;
    } else if (token === 0) this.look();
    else if (token > known.floor) this.#grantHeard(known, token);
  }

  /** Some update or read of this process showed a lease of this attempt. True: it waited for that. */
  seated(id: string, token: number, aliveUntil: Moment): boolean {
    const known = this.#waits.get(id);
    if (known?.isQueued !== true || token <= known.floor) return false;
    known.aliveUntil = aliveUntil;
    this.#grantHeard(known, token);
    return true;
  }

  /** A read, asked then, showed these attempts. Looks if somebody who waited before is not among them. */
  lookUnless(shown: readonly string[], askedAt: Moment): void {
    for (const [id, { isQueued, queuedAtMs }] of this.#waits) {
      if (isQueued && queuedAtMs < askedAt.ms && !shown.includes(id)) {
        this.look();
        return;
      }
    }
  }

  look(): void {
    // A look that is on its way was asked before what calls for this one, and does not count.
    this.#mustLookAgain = this.#isLooking;
    if (this.#isLooking || !this.hasQueued) return;
    this.#isLooking = true;
    void this.#look().finally(() => {
      this.#isLooking = false;
      if (this.#mustLookAgain) this.look();
      else this.#schedule();
    });
  }

  fail(error: unknown): void {
    for (const { wait, isQueued } of [...this.#waits.values()]) {
      if (isQueued)
        this.#end(wait, false, () => {
          wait.failed(error);
        });
    }
  }

  close(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  /** A grant by event carries no time of its own: it lasts as long as the place it came from. */
  #grantHeard(known: Known, token: number): void {
    const { wait, aliveUntil } = known;
    const { leaseMs, clockAllowanceMs } = wait.terms;
    const deadline = after(aliveUntil, -clockAllowanceMs);
    // Too little left to hand out (E7): extend first. The look's answer tells whether the seat is still there.
    if (deadline.ms - this.#clock.nowMs() < leaseMs / 3) this.look();
    else
      this.#end(wait, true, () => {
        wait.granted(token, deadline);
      });
  }

  #end(wait: Wait, isGranted: boolean, tell: () => void): void {
    this.remove(wait.id);
    this.#schedule();
    this.#onEnded(wait, isGranted);
    tell();
  }

  #update(known: Known, place: Place, reply: Reply, sentAt: Moment): void {
    known.floor = Math.max(known.floor, reply.fence);
    const { leaseMs } = known.wait.terms;
    const aliveUntil = after(sentAt, leftMs(place.expiresAt, reply.nowMs, leaseMs));
    if (aliveUntil.ms > known.aliveUntil.ms) known.aliveUntil = aliveUntil;
    known.place = place.place;
    this.#extendAtMs = Math.min(this.#extendAtMs, sentAt.ms + leaseMs / 3);
    if (this.#isFirst(known)) {
      const inTheWayMs = reply.earliestMs === null ? Infinity : reply.earliestMs - reply.nowMs;
      const delayMs = known.place === 0 ? 1 : Math.min(SECOND_LOOK_MS * known.place, LAST_LOOK_MS);
      this.#expiryAtMs = this.#clock.nowMs() + inTheWayMs + delayMs;
    }
    known.wait.placed(known.place, reply);
  }

  #isFirst({ place }: Known): boolean {
    for (const other of this.#waits.values()) if (other.isQueued && other.place < place) return false;
    return true;
  }

  #schedule(): void {
    this.close();
    const dueMs = Math.min(this.#extendAtMs, this.#expiryAtMs, this.#retryAtMs);
    if (!this.hasQueued || dueMs === Infinity || this.#isLooking) return;
    this.#timer = this.#clock.at(dueMs, () => {
      this.look();
    });
  }

  async #look(): Promise<void> {
    const asked = [...this.#waits.values()].filter(({ isQueued }) => isQueued);
    const [first] = asked;
    if (first === undefined) return;
    const { seats } = first.wait;
    const ids = asked.map(({ wait }) => wait.id);
    const leaseMs = Math.max(...asked.map(({ wait }) => wait.terms.leaseMs));
    const retentionMs = Math.max(...asked.map(({ wait }) => wait.terms.retentionMs));
    this.close();
    this.#extendAtMs = this.#expiryAtMs = this.#retryAtMs = Infinity;
    const operation = { type: 'extend', ids, leaseMs, retentionMs, nonce: newNonce() } as const;
    const outcome = await this.#combiner.submit(this.name, seats, operation).outcome;
    this.#looked(asked, outcome);
  }

  #looked(asked: readonly Known[], outcome: Outcome<Answer>): void {
    if (outcome.type === 'refused') {
      this.fail(outcome.error);
      return;
    }
    if (outcome.type === 'unknown') {
      const pauseMs = Math.min(FIRST_RETRY_MS * 2 ** this.#failures, MAX_RETRY_MS);
      this.#failures = Math.min(this.#failures + 1, 10);
      this.#retryAtMs = this.#clock.nowMs() + pauseMs * (0.5 + Math.random() / 2);
      return;
    }
    this.#failures = 0;
    const { reply } = outcome.value;
    for (const known of asked) {
      // Granted meanwhile, or not wanted any more: what was asked before does not take that back.
      if (this.#waits.get(known.wait.id) !== known) continue;
      const fate = reply === null ? undefined : fateOf(reply, known.wait.id);
      if (reply !== null && fate?.type === 'queued') {
        this.#update(known, fate.place, reply, outcome.sentAt);
      } else if (reply !== null && fate?.type === 'granted') {
        // Just extended, so whatever is left is all there is to be had.
        const { expiresAt, leaseMs, token } = fate.lease;
        const aliveUntil = after(outcome.sentAt, leftMs(expiresAt, reply.nowMs, leaseMs));
        const deadline = after(aliveUntil, -known.wait.terms.clockAllowanceMs);
        this.#end(known.wait, true, () => {
          known.wait.granted(token, deadline);
        });
      } else {
        this.#end(known.wait, false, () => {
          known.wait.lapsed();
        });
      }
    }
  }
}
