import { within } from '../clock.js';
import type { Clock } from '../clock.js';
import type { LossCause } from '../errors.js';
import type { AttemptEvent, Report } from '../events.js';
import type { Settings } from '../options/provider-options.js';
import { HeldLease } from './held-lease.js';
import type { Grant, HoldOwner } from './held-lease.js';
import type { Confirmation, LeaseMonitor } from './lease-monitor.js';
import type { HandleOwner } from './lock-handle.js';
import type { GivenBack, ReleaseQueue } from './release-queue.js';

/**
 * Of all providers of the process: Node 20 never cleans up a registry again, nor any other, if one was collected itself
 * just before its turn (seen with 20.20).
 */
const forgotten = new FinalizationRegistry<() => void>((abandon) => {
  abandon();
});

/** Everything this process holds, and how each hold ends. */
export class Holds implements HandleOwner, HoldOwner {
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
  ) {
    this.#settings = settings;
    this.#clock = clock;
    this.#report = report;
    this.#monitor = monitor;
    this.#releases = releases;
  }

  take(grant: Grant): HeldLease {
    const hold = new HeldLease(grant, this.#clock, this);
    this.#monitor.add(hold);
    grant.kept?.keeper.taken();
    return hold;
  }

  /** Somebody has it from now on. */
  acquired(hold: HeldLease, waitedMs: number): void {
    this.#report('acquired', { ...eventOf(hold), waitedMs });
  }

  lost(hold: HeldLease, why: LossCause): void {
    this.#remove(hold);
    if (!hold.isIdle) this.#report('lost', { ...eventOf(hold), heldMs: hold.heldMs, why });
    // The next in line need not wait for the rest of a lease that nobody uses. Final: nothing revives the hold.
    // A leader's stays: by its deadline work is only told to end, and what is left is the time in which it can.
    // No copy of its request outlasts its lease.
    const isLeader = hold.grant.terms.transitionMs !== undefined;
    if (why === 'expired' ? !isLeader : this.#mayComeBack(hold)) void this.#giveBack(hold);
  }

  doubtful(hold: HeldLease): void {
    void this.confirm(hold);
  }

  confirm(hold: HeldLease): Promise<Confirmation> {
    return this.#monitor.confirm(hold);
  }

  /** Somebody says that this lease was asked for, or taken away. */
  async look(id: string): Promise<void> {
    const hold = this.#monitor.get(id);
    if (hold !== undefined) await this.#monitor.confirm(hold);
  }

  /** Documents have vanished: the holds under this name, or all, are looked at now instead of at their next turn. */
  lookAt(name: string | null): void {
    this.#monitor.hurry(name);
  }

  async release(hold: HeldLease): Promise<boolean> {
    const { kept } = hold.grant;
    const isKept = kept?.keeper.mayFollow(hold) === true;
    if (!hold.release()) return false;
    if (isKept) {
      const idle = hold.follower(kept);
      this.#monitor.replace(hold, idle);
      this.#report('released', { ...eventOf(hold), heldMs: hold.heldMs, confirmed: true });
      kept.keeper.follows(idle);
      return true;
    }
    this.#remove(hold);
    const givenBack = await this.#boundedGiveBack(hold);
    const wasHeld = givenBack !== 0;
    if (wasHeld)
      this.#report('released', { ...eventOf(hold), heldMs: hold.heldMs, confirmed: givenBack !== undefined });
    else this.#report('lost', { ...eventOf(hold), heldMs: hold.heldMs, why: 'evicted' });
    return wasHeld;
  }

  /** Gives a seat back that nobody has. */
  discard(idle: HeldLease): void {
    if (!idle.release()) return;
    this.#remove(idle);
    void this.#giveBack(idle);
  }

  /** Its owner is done with it, but not what was begun under it: the seat stays until its lease is over. */
  letExpire(hold: HeldLease): void {
    if (!hold.release()) return;
    this.#remove(hold);
    this.#report('released', { ...eventOf(hold), heldMs: hold.heldMs, confirmed: false });
  }

  track(handle: object, hold: HeldLease): void {
    const abandon = (): void => {
      this.#abandon(hold);
    };
    forgotten.register(handle, abandon, handle);
  }

  untrack(handle: object): void {
    forgotten.unregister(handle);
  }

  requestReleaseOfAll(): void {
    for (const hold of this.#monitor.holds) {
      if (hold.requestRelease()) this.#report('releaseRequested', eventOf(hold));
    }
  }

  /** Resolves when nothing is held any more. */
  async emptied(): Promise<void> {
    if (this.#monitor.isEmpty) return;
    await new Promise<void>((resolve) => {
      this.#onEmpty = resolve;
    });
  }

  /** Stops vouching for what is still held. It is left to expire: a lock is never given away under a running owner. */
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
    hold.grant.kept?.keeper.gone(hold);
    if (this.#monitor.isEmpty) this.#onEmpty?.();
  }

  #giveBack(hold: HeldLease): Promise<GivenBack> {
    const { grant, deadlineMs } = hold;
    const { name, seats, id, terms } = grant;
    const untilMs = deadlineMs + terms.clockAllowanceMs + terms.leaseMs;
    const againAtMs = this.#mayComeBack(hold) ? grant.copyUntilMs : undefined;
    return this.#releases.giveBack({ name, seats, id, untilMs, againAtMs });
  }

  /** A copy of its request may still arrive, and be granted a seat that nobody knows of (E2). */
  #mayComeBack({ grant: { copyUntilMs = 0 } }: HeldLease): boolean {
    return copyUntilMs > this.#clock.nowMs();
  }

  /** A release does not wait for a store that does not answer; the background goes on. */
  async #boundedGiveBack(hold: HeldLease): Promise<GivenBack> {
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
