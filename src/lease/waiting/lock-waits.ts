import type { Clock, Moment } from '../../clock.js';
import { CorruptLockDocumentError } from '../../errors.js';
import type { GrantNews, Heard } from '../../observer.js';
import { fateOf } from '../../protocol/replies/reply.js';
import type { Place, Reply } from '../../protocol/replies/reply.js';
import type { Answer, Combiner } from '../../store/updates/combiner.js';
import type { Outcome } from '../../store/outcome.js';
import { newNonce } from '../ids.js';
import { deadlineOf, leavesEnough } from '../deadline.js';
import type { QueuePosition } from './wakeup-policy.js';
import { LookSchedule } from './look-schedule.js';
import type { LookLimiter } from './look-limiter.js';
import { LOOK_AGAIN } from '../../protocol/wake.js';
import { TrackedWait } from './tracked-wait.js';
import type { Wait } from './wait.js';

interface LockWaitsListener {
  /** Called when a wait has ended, before the wait itself is told its result. */
  ended(wait: Wait, isGranted: boolean): void;
  /** Called when the queue has moved, or when one of the waits has joined it. */
  moved(): void;
}

/**
 * All waits of this process for one lock. There may be thousands of them, so one look serves all of them, and no
 * operation on one wait iterates over the others.
 *
 * A look is a transition that extends this process's own places. A look always writes, so its answer shows a state that
 * a majority has acknowledged. A look also drops what has expired and admits the next waiters, so the expiry of a lease
 * needs no other update. The process looks every third of a lease, and when the waiting room asks for a look. The
 * process also looks when the earliest lease or place ahead expires: the head at once, the waiters behind the head a
 * little later.
 */
export class LockWaits {
  readonly name: string;
  readonly #combiner: Combiner;
  readonly #clock: Clock;
  readonly #listener: LockWaitsListener;
  readonly #looks: LookLimiter;
  readonly #waits = new Map<string, TrackedWait>();
  /**
   * The waits that a reply has shown in the queue, in the order of those replies. The requests of the other waits are
   * not answered yet.
   */
  readonly #queued = new Set<TrackedWait>();
  /**
   * The queued wait with the lowest place, as far as known. When it ends, the first one in `#queued` follows, until a
   * reply shows a lower place.
   */
  #first: TrackedWait | undefined;
  readonly #lookSchedule: LookSchedule;
  readonly #requestedLook = (): Promise<void> => this.#sendLook();
  #isLooking = false;
  #mustLookAgain = false;
  #queueLength = 0;
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
    this.#lookSchedule = new LookSchedule(clock, () => {
      this.look();
    });
  }

  get isEmpty(): boolean {
    return this.#waits.size === 0;
  }

  get hasQueued(): boolean {
    return this.#queued.size > 0;
  }

  get position(): QueuePosition {
    const place = this.#first?.place ?? Infinity;
    return { place, waiters: this.#queueLength, movedAtMs: this.#movedAtMs };
  }

  has(id: string): boolean {
    return this.#waits.has(id);
  }

  add(wait: Wait): void {
    if (!this.#waits.has(wait.id)) this.#waits.set(wait.id, new TrackedWait(wait));
  }

  remove(id: string): void {
    const tracked = this.#waits.get(id);
    if (tracked === undefined) return;
    this.#waits.delete(id);
    this.#queued.delete(tracked);
    if (this.#first === tracked) [this.#first] = this.#queued;
    if (!this.hasQueued) this.close();
  }

  /**
   * Called when the reply to the attempt's own request showed the attempt in the queue, or its upgrade as pending.
   *
   * @param mustLook - Whether events may have been missed since that request was sent.
   */
  queued(id: string, place: Place, reply: Reply, sentAt: Moment, mustLook: boolean): void {
    const tracked = this.#waits.get(id);
    if (tracked === undefined) return;
    this.#queued.add(tracked);
    tracked.queuedAtMs = this.#clock.nowMs();
    this.#update(tracked, place, reply, sentAt);
    const { earlyGrant, isLookAskedEarly } = tracked;
    if (earlyGrant !== undefined)
      this.#acceptGrant(tracked, earlyGrant.token, { by: 'event', ...earlyGrant.news });
    else if (mustLook || isLookAskedEarly) this.look();
    else this.#armSchedule();
  }

  /**
   * Called when a word reports a grant to this attempt with this token. The token `LOOK_AGAIN` asks for a look instead.
   */
  woken(id: string, token: number, news: GrantNews): void {
    const tracked = this.#waits.get(id);
    if (tracked === undefined) return;
    if (!this.#queued.has(tracked)) tracked.heardEarly(token, news);
    else if (token === LOOK_AGAIN) this.look();
    else if (tracked.isGrantedBy(token)) this.#acceptGrant(tracked, token, { by: 'event', ...news });
  }

  /**
   * Called when an update or a read of this process showed a lease of this attempt. Returns true if the attempt waits
   * in the queue and that lease is its grant.
   */
  leaseSeen(id: string, token: number, endsAt: Moment, heard: Heard): boolean {
    const tracked = this.#waits.get(id);
    if (tracked === undefined || !this.#queued.has(tracked) || !tracked.isGrantedBy(token)) return false;
    tracked.shownGranted(endsAt);
    this.#acceptGrant(tracked, token, heard);
    return true;
  }

  /** Called when a read showed this attempt, the first waiter of this process, at `place` in a queue of `waiters`. */
  placeRead(id: string, place: number, waiters: number): void {
    const tracked = this.#waits.get(id);
    if (tracked === undefined || !this.#queued.has(tracked)) return;
    this.#queueLength = waiters;
    // Places only get lower, so a read that shows a higher place is older than what is known.
    if (place < tracked.place) this.#setPlace(tracked, place);
  }

  /**
   * Called after a read that was sent at `sentAt` and showed these attempts. Requests a look if the read does not
   * show a wait that was in the queue before `sentAt`.
   */
  lookIfMissing(shown: readonly string[], sentAt: Moment): void {
    const ids = new Set(shown);
    for (const { wait, queuedAtMs } of this.#queued) {
      if (queuedAtMs >= sentAt.ms || ids.has(wait.id)) continue;
      this.look();
      return;
    }
  }

  look(): void {
    // The answer to a look in flight may be older than the event that caused this call, so another look must follow.
    this.#mustLookAgain = this.#isLooking;
    if (!this.#isLooking && this.hasQueued) this.#looks.request(this.#requestedLook);
  }

  fail(error: unknown, waits: Iterable<TrackedWait> = this.#queued): void {
    for (const tracked of [...waits]) {
      const { wait } = tracked;
      if (this.#waits.get(wait.id) !== tracked) continue;
      this.#end(wait, false, () => {
        wait.failed(error);
      });
    }
  }

  close(): void {
    this.#lookSchedule.cancel();
    this.#looks.cancel(this.#requestedLook);
  }

  #acceptGrant(tracked: TrackedWait, token: number, heard: Heard): void {
    const { wait, deadline } = tracked;
    // If too little of the lease is left, a look extends the seat and shows whether the seat still exists.
    if (!leavesEnough(deadline, this.#clock, wait.durations)) this.look();
    else
      this.#end(wait, true, () => {
        wait.heard?.(heard);
        wait.granted(token, deadline);
      });
  }

  #end(wait: Wait, isGranted: boolean, tell: () => void): void {
    this.remove(wait.id);
    this.#armSchedule();
    this.#listener.ended(wait, isGranted);
    if (isGranted && this.hasQueued) this.#queueMoved();
    tell();
  }

  #queueMoved(): void {
    this.#movedAtMs = this.#clock.nowMs();
    this.#listener.moved();
  }

  #setPlace(tracked: TrackedWait, place: number): void {
    const isCloser = place < tracked.place;
    tracked.place = place;
    if (this.#first === undefined || place < this.#first.place) this.#first = tracked;
    if (isCloser) this.#queueMoved();
  }

  #update(tracked: TrackedWait, place: Place, reply: Reply, sentAt: Moment): void {
    tracked.shownQueued(place, reply, sentAt);
    this.#queueLength = reply.waiters;
    this.#setPlace(tracked, place.place);
    this.#lookSchedule.extendAt(sentAt.ms + tracked.wait.durations.leaseMs / 3);
    if (this.#first === tracked) {
      const untilExpiryMs = reply.earliestExpiryMs === null ? Infinity : reply.earliestExpiryMs - reply.nowMs;
      this.#lookSchedule.expiryAt(this.#clock.nowMs() + untilExpiryMs, tracked.place);
    }
    tracked.wait.placed(tracked.place, reply);
  }

  #armSchedule(): void {
    if (this.hasQueued && !this.#isLooking) this.#lookSchedule.arm();
    else this.#lookSchedule.cancel();
  }

  async #sendLook(): Promise<void> {
    const asked = [...this.#queued];
    const [first] = asked;
    if (first === undefined) return;
    this.#isLooking = true;
    const { rules } = first.wait;
    const ids = asked.map(({ wait }) => wait.id);
    let [leaseMs, retentionMs] = [0, 0];
    for (const { wait } of asked) {
      leaseMs = Math.max(leaseMs, wait.durations.leaseMs);
      retentionMs = Math.max(retentionMs, wait.durations.retentionMs);
    }
    this.#lookSchedule.restart();
    const operation = { type: 'extend', ids, leaseMs, retentionMs, nonce: newNonce(this.#clock) } as const;
    try {
      this.#looked(asked, await this.#combiner.submit(this.name, rules, operation).outcome);
    } finally {
      this.#isLooking = false;
      if (this.#mustLookAgain) this.look();
      else this.#armSchedule();
    }
  }

  #looked(asked: readonly TrackedWait[], outcome: Outcome<Answer>): void {
    if (outcome.type === 'refused') {
      this.fail(outcome.error);
      return;
    }
    if (outcome.type !== 'done') {
      this.#lookSchedule.unanswered();
      return;
    }
    this.#lookSchedule.answered();
    const { reply } = outcome.value;
    if (reply?.isWellFormed === false) {
      this.fail(new CorruptLockDocumentError(this.name), asked);
      return;
    }
    for (const tracked of asked) {
      // If the wait has ended since the look was sent, the answer to the look does not matter any more.
      if (this.#waits.get(tracked.wait.id) !== tracked) continue;
      const fate = reply === null ? undefined : fateOf(reply, tracked.wait.id);
      if (reply !== null && fate?.type === 'queued') {
        this.#update(tracked, fate.place, reply, outcome.sentAt);
      } else if (reply !== null && fate?.type === 'granted') {
        // If little of the lease is left, `#acceptGrant` would send a look (E7). This look has just extended the seat,
        // so the grant needs no further look.
        const { lease } = fate;
        const deadline = deadlineOf(lease, reply.nowMs, outcome.sentAt, tracked.wait.durations);
        this.#end(tracked.wait, true, () => {
          const grantedAtMs = lease.acquiredAt.getTime();
          tracked.wait.heard?.({ by: 'look', grantedAtMs, handedBy: [] });
          tracked.wait.granted(lease.token, deadline);
        });
      } else {
        this.#end(tracked.wait, false, () => {
          tracked.wait.lapsed();
        });
      }
    }
  }
}
