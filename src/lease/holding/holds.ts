import { within } from '../../clock.js';
import type { Clock } from '../../clock.js';
import type { LossCause } from '../../errors.js';
import type { AttemptEvent, Report } from '../../events.js';
import { storedLeaseMs } from '../../options/provider-options.js';
import type { Settings } from '../../options/provider-options.js';
import { revocationOf } from '../../protocol/pipeline/revocation.js';
import type { Grant } from './grant.js';
import { HeldLease } from './held-lease.js';
import type { HoldOwner } from './held-lease.js';
import type { Confirmation } from './lease-extender.js';
import type { LeaseMonitor } from './lease-monitor.js';
import type { HandleOwner } from './lock-handle.js';
import type { LeaveResult, ReleaseQueue } from './release-queue.js';

/**
 * One registry for all providers of the process. Node 20 stops cleaning up every registry for ever if one registry is
 * itself collected just before its turn (seen with 20.20).
 */
const forgottenHandles = new FinalizationRegistry<() => void>((abandon) => {
  abandon();
});

/**
 * Everything this process holds, and how each hold ends. This folder extends leases, reports losses to handles, and
 * gives back what a process does not use any more.
 */
export class Holds implements HandleOwner, HoldOwner {
  readonly databaseName: string;
  readonly #settings: Settings;
  readonly #clock: Clock;
  readonly #report: Report;
  readonly #monitor: LeaseMonitor;
  readonly #releases: ReleaseQueue;
  #onEmpty: (() => void) | undefined;

  constructor(
    settings: Settings,
    clock: Clock,
    report: Report,
    monitor: LeaseMonitor,
    releases: ReleaseQueue,
    databaseName: string,
  ) {
    this.databaseName = databaseName;
    this.#settings = settings;
    this.#clock = clock;
    this.#report = report;
    this.#monitor = monitor;
    this.#releases = releases;
  }

  take(grant: Grant): HeldLease {
    const hold = new HeldLease(grant, this.#clock, this);
    this.#monitor.add(hold);
    grant.kept?.keeper.seatGranted();
    return hold;
  }

  /** A caller uses the hold from now on. */
  acquired(hold: HeldLease, waitedMs: number): void {
    this.#report('acquired', { ...eventOf(hold), waitedMs });
  }

  lost(hold: HeldLease, why: LossCause, mayBeStored: boolean): void {
    this.#remove(hold);
    if (!hold.isIdle) this.#report('lost', { ...eventOf(hold), heldMs: hold.heldMs, why });
    // Give back a lease that no caller uses, so that the next waiter does not wait for the rest of it: the hold is lost
    // for good. The lease of a leader stays: at its deadline its work is only told to end, and the rest of the lease is
    // the time for that. No copy of a leader's request outlasts its lease.
    const isLeader = hold.grant.terms.transitionMs !== undefined;
    if (mayBeStored ? !isLeader : this.#mayComeBack(hold)) void this.#giveBack(hold);
  }

  doubtful(hold: HeldLease): void {
    void this.#monitor.ask(hold);
  }

  /** Asks the server about this hold. Waits no longer than `storeTimeoutMs`, as any call to the store. */
  async confirm(hold: HeldLease): Promise<Confirmation> {
    const { storeTimeoutMs } = this.#settings;
    const confirmation = await within(this.#clock, storeTimeoutMs, this.#monitor.ask(hold));
    if (confirmation !== undefined) return confirmation;
    return { type: 'unknown', error: new Error(`no answer within ${String(storeTimeoutMs)} ms`) };
  }

  /** A wake-up or an operator of this process says that this lease was revoked. Asks the server about it. */
  async look(id: string): Promise<void> {
    const hold = this.#monitor.get(id);
    if (hold !== undefined) await this.confirm(hold);
  }

  /** The collection was dropped or renamed. Asks about all holds now, instead of when they are due. */
  lookAtAll(): void {
    this.#monitor.askAboutAll();
  }

  async release(hold: HeldLease): Promise<boolean> {
    const { kept } = hold.grant;
    const isKept = kept?.keeper.mayKeep(hold) === true;
    if (!hold.release()) return false;
    if (isKept) {
      const idle = hold.nextHold(kept);
      this.#monitor.replace(hold, idle);
      const { heldMs } = hold;
      // Before the report, because a listener may close the provider, and a close gives up idle seats.
      kept.keeper.keepIdle(idle);
      this.#report('released', { ...eventOf(hold), heldMs, confirmed: true });
      return true;
    }
    this.#remove(hold);
    const left = await this.#boundedGiveBack(hold);
    const { heldMs } = hold;
    if (left?.token === 0) {
      const why = this.#whyGone(hold, left);
      hold.releasedTooLate(why);
      this.#report('lost', { ...eventOf(hold), heldMs, why });
      return false;
    }
    this.#report('released', { ...eventOf(hold), heldMs, confirmed: left?.token !== undefined });
    return true;
  }

  /** Gives back an idle seat. */
  discard(idle: HeldLease): void {
    if (!idle.release()) return;
    this.#remove(idle);
    void this.#giveBack(idle);
  }

  /** The owner ends the hold, but work that began under it still runs. The seat stays taken until its lease expires. */
  letExpire(hold: HeldLease): void {
    if (!hold.release()) return;
    this.#remove(hold);
    this.#report('released', { ...eventOf(hold), heldMs: hold.heldMs, confirmed: false });
  }

  track(handle: object, hold: HeldLease): void {
    const abandon = (): void => {
      this.#abandon(hold);
    };
    forgottenHandles.register(handle, abandon, handle);
  }

  untrack(handle: object): void {
    forgottenHandles.unregister(handle);
  }

  requestReleaseOfAll(): void {
    for (const hold of this.#monitor.holds) {
      if (hold.requestRelease()) this.#report('releaseRequested', eventOf(hold));
    }
  }

  /** Resolves when this process holds nothing any more. */
  async emptied(): Promise<void> {
    if (this.#monitor.isEmpty) return;
    await new Promise<void>((resolve) => {
      this.#onEmpty = resolve;
    });
  }

  /** Loses all holds here and lets their leases expire, because a lock is never given away under a running owner. */
  loseAll(): void {
    for (const hold of this.#monitor.holds) hold.lose('provider-closed');
  }

  #abandon(hold: HeldLease): void {
    if (!hold.release()) return;
    this.#remove(hold);
    this.#report('abandoned', { ...eventOf(hold), heldMs: hold.heldMs });
    void this.#giveBack(hold);
  }

  #remove(hold: HeldLease): void {
    this.#monitor.remove(hold);
    hold.grant.kept?.keeper.seatEnded(hold);
    if (this.#monitor.isEmpty) this.#onEmpty?.();
  }

  #giveBack(hold: HeldLease): Promise<LeaveResult | undefined> {
    const { grant, deadlineMs } = hold;
    const { name, seats, id, terms, copies } = grant;
    const untilMs = deadlineMs + terms.clockAllowanceMs + storedLeaseMs(terms);
    return this.#releases.giveBack({ name, seats, id, untilMs, copies });
  }

  /** Why a leave found no lease. Past the deadline of the hold, its lease may have expired before the leave arrived. */
  #whyGone({ firstToken, revocation, deadlineMs }: HeldLease, { revoked, nowMs }: LeaveResult): LossCause {
    if ((revocationOf(revoked, firstToken) ?? revocation) !== undefined) return 'revoked';
    // The reply has a time only if there is a document.
    if (nowMs === undefined) return 'document-missing';
    return this.#clock.nowMs() < deadlineMs ? 'evicted' : 'expired';
  }

  /** Whether a copy of its request may still arrive and take a seat for nobody (E2). */
  #mayComeBack({ grant: { copies } }: HeldLease): boolean {
    return copies?.mayArrive === true && copies.overAtMs > this.#clock.nowMs();
  }

  /** Bounds how long a release waits for the store. After that, giving back goes on in the background. */
  async #boundedGiveBack(hold: HeldLease): Promise<LeaveResult | undefined> {
    return await within(this.#clock, this.#settings.storeTimeoutMs, this.#giveBack(hold));
  }
}

const eventOf = ({
  name,
  id,
  token,
  grant,
}: HeldLease): AttemptEvent & { readonly fencingToken: number } => ({
  lockName: name,
  kind: grant.seats.kind,
  id,
  fencingToken: token,
});
