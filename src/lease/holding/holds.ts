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
import type { Left, ReleaseQueue } from './release-queue.js';

/**
 * Of all providers of the process: Node 20 never cleans up a registry again, nor any other, if one was collected itself
 * just before its turn (seen with 20.20).
 */
const forgotten = new FinalizationRegistry<() => void>((abandon) => {
  abandon();
});

/** Everything this process holds, and how each hold ends. */
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
    grant.kept?.keeper.taken();
    return hold;
  }

  /** Somebody has it from now on. */
  acquired(hold: HeldLease, waitedMs: number): void {
    this.#report('acquired', { ...eventOf(hold), waitedMs });
  }

  lost(hold: HeldLease, why: LossCause, mayBeStored: boolean): void {
    this.#remove(hold);
    if (!hold.isIdle) this.#report('lost', { ...eventOf(hold), heldMs: hold.heldMs, why });
    // The next in line need not wait for the rest of a lease that nobody uses. Final: nothing revives the hold.
    // A leader's stays: by its deadline work is only told to end, and what is left is the time in which it can.
    // No copy of its request outlasts its lease.
    const isLeader = hold.grant.terms.transitionMs !== undefined;
    if (mayBeStored ? !isLeader : this.#mayComeBack(hold)) void this.#giveBack(hold);
  }

  doubtful(hold: HeldLease): void {
    void this.#monitor.ask(hold);
  }

  /** Asks the server about this hold, and waits for the answer no longer than for any call to the store. */
  async confirm(hold: HeldLease): Promise<Confirmation> {
    const { storeTimeoutMs } = this.#settings;
    const confirmation = await within(this.#clock, storeTimeoutMs, this.#monitor.ask(hold));
    if (confirmation !== undefined) return confirmation;
    return { type: 'unknown', error: new Error(`no answer within ${String(storeTimeoutMs)} ms`) };
  }

  /** Somebody says that this lease was asked for, or taken away. */
  async look(id: string): Promise<void> {
    const hold = this.#monitor.get(id);
    if (hold !== undefined) await this.confirm(hold);
  }

  /** The collection was dropped or renamed: all holds are looked at now instead of at their next turn. */
  lookAtAll(): void {
    this.#monitor.askAboutAll();
  }

  async release(hold: HeldLease): Promise<boolean> {
    const { kept } = hold.grant;
    const isKept = kept?.keeper.mayFollow(hold) === true;
    if (!hold.release()) return false;
    if (isKept) {
      const idle = hold.follower(kept);
      this.#monitor.replace(hold, idle);
      const { heldMs } = hold;
      // First, because a listener may close the provider, which gives up what is idle.
      kept.keeper.follows(idle);
      this.#report('released', { ...eventOf(hold), heldMs, confirmed: true });
      return true;
    }
    this.#remove(hold);
    const left = await this.#boundedGiveBack(hold);
    const { heldMs } = hold;
    if (left?.token === 0) {
      const why = this.#whyGone(hold, left);
      hold.wasGone(why);
      this.#report('lost', { ...eventOf(hold), heldMs, why });
      return false;
    }
    this.#report('released', { ...eventOf(hold), heldMs, confirmed: left?.token !== undefined });
    return true;
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

  #giveBack(hold: HeldLease): Promise<Left | undefined> {
    const { grant, deadlineMs } = hold;
    const { name, seats, id, terms, copies } = grant;
    const untilMs = deadlineMs + terms.clockAllowanceMs + storedLeaseMs(terms);
    return this.#releases.giveBack({ name, seats, id, untilMs, copies });
  }

  /** Why a leave has found nothing. Past the deadline of the hold its lease may have run out before the leave arrived. */
  #whyGone({ firstToken, revocation, deadlineMs }: HeldLease, { revoked, nowMs }: Left): LossCause {
    if ((revocationOf(revoked, firstToken) ?? revocation) !== undefined) return 'revoked';
    // Without a document the leave has no time either.
    if (nowMs === undefined) return 'document-missing';
    return this.#clock.nowMs() < deadlineMs ? 'evicted' : 'expired';
  }

  /** A copy of its request may still arrive, and be granted a seat that nobody knows of (E2). */
  #mayComeBack({ grant: { copies } }: HeldLease): boolean {
    return copies?.mayArrive === true && copies.overAtMs > this.#clock.nowMs();
  }

  /** A release does not wait for a store that does not answer; the background goes on. */
  async #boundedGiveBack(hold: HeldLease): Promise<Left | undefined> {
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
