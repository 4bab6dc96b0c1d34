// Folder `holding`: extends leases, reports losses to handles, and gives back seats that the process does not use any
// more.

import { within } from '../../clock.js';
import { CollectedHandles } from '../../collected-handles.js';
import type { Clock } from '../../clock.js';
import type { LossCause } from '../../errors.js';
import type { Report } from '../../events.js';
import type { Observation } from '../../observation.js';
import type { ObservedAcquire } from '../../observer.js';
import { storedLeaseMs } from '../../options/provider-options.js';
import type { Settings } from '../../options/provider-options.js';
import { revocationOf } from '../../protocol/pipeline/revocation.js';
import { settle } from '../../store/settle.js';
import type { Grant } from './grant.js';
import { Hold } from './hold.js';
import type { SeatHold } from './holds-of-seat.js';
import type { HandleHolds } from './lease-handle.js';
import type { Confirmation } from './lease-extender.js';
import type { LeaseMonitor } from './lease-monitor.js';
import type { LeaveResult, ReleaseQueue } from './release-queue.js';
import { Seat } from './seat.js';
import type { SeatKeeper, SeatListener } from './seat.js';

/** A hold whose handle was collected without a release. */
interface Forgotten {
  readonly holds: Holds;
  readonly hold: Hold;
}

/** Everything this process holds, and how each hold ends. */
export class Holds implements HandleHolds, SeatListener {
  static readonly #forgotten = new CollectedHandles<Forgotten>(({ holds, hold }) => {
    holds.#abandon(hold);
  });

  readonly databaseName: string;
  readonly #settings: Settings;
  readonly #clock: Clock;
  readonly #report: Report;
  readonly #observation: Observation;
  readonly #monitor: LeaseMonitor;
  readonly #releases: ReleaseQueue;
  #onEmpty: (() => void) | undefined;

  constructor(
    settings: Settings,
    clock: Clock,
    report: Report,
    observation: Observation,
    monitor: LeaseMonitor,
    releases: ReleaseQueue,
    databaseName: string,
  ) {
    this.databaseName = databaseName;
    this.#settings = settings;
    this.#clock = clock;
    this.#report = report;
    this.#observation = observation;
    this.#monitor = monitor;
    this.#releases = releases;
  }

  take(grant: Grant, keeper?: SeatKeeper): Hold {
    const seat = new Seat(grant, this.#clock, this, keeper);
    const hold = new Hold(seat);
    this.#monitor.add(seat);
    keeper?.seatGranted(seat);
    return hold;
  }

  /** Called when the caller of an acquire gets its hold. */
  acquired(hold: Hold, waitedMs: number, acquire: ObservedAcquire | undefined): void {
    if (acquire !== undefined) this.#observation.holdStarted(hold, acquire);
    this.#report('acquired', { ...hold.event, waitedMs });
  }

  lost(seat: Seat, holds: readonly SeatHold[], why: LossCause, mayBeStored: boolean): void {
    this.#remove(seat);
    for (const hold of holds) {
      this.#observation.holdEnded(hold, why);
      this.#report('lost', { ...hold.event, heldMs: hold.heldMs, why });
    }
    if (this.#mustGiveBack(seat, why, mayBeStored)) void this.#giveBack(seat);
  }

  doubtful(seat: Seat): void {
    void this.#monitor.confirm(seat);
  }

  confirm({ seat }: Hold): Promise<Confirmation> {
    return this.#confirm(seat);
  }

  /**
   * Asks the server about the lease of this attempt, for example because it may have been revoked or lost. No effect if
   * the process has no seat for this attempt.
   */
  async confirmLease(id: string): Promise<void> {
    const seat = this.#monitor.get(id);
    if (seat !== undefined) await this.#confirm(seat);
  }

  /** Called when the collection was dropped or renamed: confirms all seats without waiting until they are due. */
  confirmAll(): void {
    this.#monitor.confirmAll();
  }

  async release(hold: Hold): Promise<boolean> {
    if (!hold.release()) return false;
    const { seat, heldMs } = hold;
    if (this.#keep(seat)) {
      this.#observation.holdEnded(hold, 'released');
      this.#report('released', { ...hold.event, heldMs, confirmed: true });
      return true;
    }
    this.#giveUp(seat);
    this.#observation.holdReleasing(hold);
    const left = await this.#boundedGiveBack(seat);
    if (left?.foundLease === false) {
      const why = this.#whyGone(seat, left);
      hold.setFoundGone(why);
      this.#observation.holdEnded(hold, why);
      this.#report('lost', { ...hold.event, heldMs, why });
      return false;
    }
    this.#observation.holdEnded(hold, 'released');
    this.#report('released', { ...hold.event, heldMs, confirmed: left?.foundLease === true });
    return true;
  }

  /** Gives back an idle seat. No effect if the seat is over or in use. */
  returnIdle(idle: Seat): void {
    if (this.#giveUp(idle)) void this.#giveBack(idle);
  }

  /**
   * Ends the hold without giving its seat back: the lease is not extended any more, and stays stored until it expires
   * or a later operation ends it. For a term whose work outlives its drain, and before a hand-over.
   */
  letExpire(hold: Hold): void {
    if (!hold.release()) return;
    this.#giveUp(hold.seat);
    this.#observation.holdEnded(hold, 'released');
    this.#report('released', { ...hold.event, heldMs: hold.heldMs, confirmed: false });
  }

  track(handle: object, hold: Hold): void {
    Holds.#forgotten.track(handle, { holds: this, hold }, this.#clock.chance);
  }

  untrack(handle: object): void {
    Holds.#forgotten.untrack(handle);
  }

  /** The number of holds, and the smallest share that any lease has left. Revoked leases do not count for the share. */
  get vitals(): { readonly held: number; readonly leastLeaseShare: number | null } {
    let held = 0;
    let leastLeaseShare: number | null = null;
    for (const seat of this.#monitor.allSeats) {
      held += seat.holds.length;
      if (seat.revocation !== undefined) continue;
      const { leaseMs, clockAllowanceMs } = seat.grant.durations;
      const share = Math.min(1, seat.standing().remainingMs / (leaseMs - clockAllowanceMs));
      leastLeaseShare = Math.min(leastLeaseShare ?? 1, share);
    }
    return { held, leastLeaseShare };
  }

  requestReleaseOfAll(): void {
    for (const seat of this.#monitor.allSeats) {
      for (const { event } of seat.requestRelease()) this.#report('releaseRequested', event);
    }
  }

  async emptied(): Promise<void> {
    if (this.#monitor.isEmpty) return;
    await new Promise<void>((resolve) => {
      this.#onEmpty = resolve;
    });
  }

  /** Loses all seats and lets their leases expire. Gives no lock back, because the work of the holders may go on. */
  loseAll(): void {
    for (const seat of this.#monitor.allSeats) seat.lose('provider-closed');
  }

  #abandon(hold: Hold): void {
    if (!hold.release()) return;
    const { seat } = hold;
    const isGivenUp = this.#giveUp(seat);
    this.#observation.holdEnded(hold, 'released');
    this.#report('abandoned', { ...hold.event, heldMs: hold.heldMs });
    if (isGivenUp) void this.#giveBack(seat);
  }

  /**
   * Gives an idle seat to its keeper, if the keeper may keep it. Returns true if `release` must not give the seat back,
   * because another hold uses it or the keeper has it. The keeper may give the seat back at once, if the next caller in
   * the local queue wants another lease time.
   */
  #keep(seat: Seat): boolean {
    if (!seat.isIdle) return true;
    if (seat.keeper?.mayKeep(seat) !== true) return false;
    // The keeper gets the seat before `release` reports to listeners: a listener may close the provider, and then the
    // keeper gives the seat back.
    seat.keeper.keepIdle(seat);
    return true;
  }

  /** Ends an idle seat without a command. Returns false if the seat is over or in use. */
  #giveUp(seat: Seat): boolean {
    if (!seat.giveUp()) return false;
    this.#remove(seat);
    return true;
  }

  #remove(seat: Seat): void {
    this.#monitor.remove(seat);
    seat.keeper?.seatEnded(seat);
    if (this.#monitor.isEmpty) this.#onEmpty?.();
  }

  /**
   * Whether to send a leave for this lost seat. If the lease may still be stored, the leave removes the lease.
   * Otherwise a leave is sent only if a late copy of the request may still take a seat: the release queue repeats the
   * leave when no copy can arrive any more.
   */
  #mustGiveBack(seat: Seat, why: LossCause, mayBeStored: boolean): boolean {
    // The work under the lock may go on, so the lease must last until its expiry.
    if (why === 'provider-closed') return false;
    // The lease is gone, but an unanswered copy of the request may still take a seat.
    if (!mayBeStored) return this.#mayComeBack(seat);
    // Nobody may rely on the rest of the lease, so the next waiter should not wait for its end. A leader is the
    // exception: its work is told to end at the deadline, and may use the rest of the lease for that.
    return seat.grant.durations.transitionMs === undefined;
  }

  #giveBack({ grant, deadlineMs }: Seat): Promise<LeaveResult | undefined> {
    const { name, rules, id, durations, copies } = grant;
    const untilMs = deadlineMs + durations.clockAllowanceMs + storedLeaseMs(durations);
    return this.#releases.giveBack({ name, rules, id, untilMs, copies });
  }

  /** Why a leave found no lease. After the deadline, the lease may have expired before the leave arrived. */
  #whyGone({ grant, revocation, deadlineMs }: Seat, { revoked, nowMs }: LeaveResult): LossCause {
    if ((revocationOf(revoked, grant.token) ?? revocation) !== undefined) return 'revoked';
    // The leave found no lease. Its reply lacks the server's time only if there is no document.
    if (nowMs === undefined) return 'document-missing';
    return this.#clock.nowMs() < deadlineMs ? 'evicted' : 'expired';
  }

  /** Whether a late copy of the request may still arrive and take a seat that no caller uses (E2). */
  #mayComeBack({ grant: { copies } }: Seat): boolean {
    return copies?.mayArrive === true && copies.overAtMs > this.#clock.nowMs();
  }

  /**
   * Asks the server about the seat, and waits at most `storeTimeoutMs` for the answer. In that time, asks again after
   * each failure that may pass, such as a change of the primary.
   */
  async #confirm(seat: Seat): Promise<Confirmation> {
    const { storeTimeoutMs } = this.#settings;
    const clock = this.#clock;
    let last: Confirmation | undefined;
    const ask = async (): Promise<Confirmation> => (last = await this.#monitor.confirm(seat));
    const answered = settle(ask, { clock, isSettled: isFinal, untilMs: clock.nowMs() + storeTimeoutMs });
    const confirmation = (await within(clock, storeTimeoutMs, answered)) ?? last;
    return (
      confirmation ?? { type: 'unknown', error: new Error(`no answer within ${String(storeTimeoutMs)} ms`) }
    );
  }

  /**
   * Gives the seat back. Resolves with `undefined` if the release queue stops repeating the leave, or after
   * `storeTimeoutMs`. In the second case the release queue goes on in the background.
   */
  async #boundedGiveBack(seat: Seat): Promise<LeaveResult | undefined> {
    return await within(this.#clock, this.#settings.storeTimeoutMs, this.#giveBack(seat));
  }
}

/** Whether asking again is of no use. */
const isFinal = (confirmation: Confirmation): boolean =>
  confirmation.type !== 'unknown' || confirmation.isRefused === true;
