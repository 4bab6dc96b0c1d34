import { after, sleepUntil } from '../clock.js';
import type { Moment, Timer } from '../clock.js';
import { LockLostError, LockModeError, ProviderClosedError, StoreUnavailableError } from '../errors.js';
import type { ParsedWait } from '../options/request-options.js';
import { leftMs } from '../protocol/lock-document.js';
import type { Lease, Mode } from '../protocol/lock-document.js';
import type { Reply } from '../protocol/reply.js';
import type { AcquisitionContext } from './attempt.js';
import type { HeldLease } from './held-lease.js';
import type { HandleOwner } from './lock-handle.js';
import { Upgrade } from './upgrade.js';

/** What an exchange came to. */
export type Exchanged =
  | { readonly type: 'done'; readonly lease: Lease; readonly reply: Reply; readonly sentAt: Moment }
  /** The hold is over, or a later change has begun: nobody needs to know any more. */
  | { readonly type: 'over' }
  | { readonly type: 'failed'; readonly error: unknown; readonly outcomeKnown: boolean };

const FIRST_REPEAT_MS = 10;
const MAX_REPEAT_MS = 500;

const STRENGTH: Readonly<Record<Mode, number>> = { read: 0, upgradeable: 1, write: 2 };

/**
 * The mode of one hold of a reader-writer lock, and its changes, one at a time.
 *
 * Each change has a number that rises, and the server does nothing for one that is not above the last it has seen: so
 * each may be repeated until it is answered, and a late copy does no harm. The mode here is never stronger than the
 * stored one: what a downgrade gives up is given up before it is sent, and an upgrade counts when its grant is known.
 */
export class ModeChanges {
  readonly #context: AcquisitionContext;
  readonly #owner: HandleOwner;
  readonly #hold: HeldLease;
  #mode: Mode;
  #change = 0;
  #isUpgrading = false;

  constructor(context: AcquisitionContext, owner: HandleOwner, hold: HeldLease) {
    this.#context = context;
    this.#owner = owner;
    this.#hold = hold;
    this.#mode = hold.grant.demand.mode ?? 'write';
  }

  get mode(): Mode {
    return this.#mode;
  }

  /** @throws What ends an acquire, too; {@link LockModeError}, {@link LockLostError}. Then the mode is as it was. */
  async upgrade(options: ParsedWait): Promise<void> {
    options.signal?.throwIfAborted();
    this.#throwUnlessIdle();
    if (this.#mode !== 'upgradeable') throw this.#illegal('only an upgradeable read can be upgraded');
    if (this.#context.closing.aborted) throw new ProviderClosedError(this.#hold.name);
    this.#isUpgrading = true;
    try {
      await new Upgrade(this.#context, this.#hold, this, options).run();
    } finally {
      this.#isUpgrading = false;
    }
  }

  /** @throws {@link LockModeError}, {@link LockLostError}; {@link StoreUnavailableError}, and then it goes on by itself. */
  async downgrade(to: Exclude<Mode, 'write'>): Promise<void> {
    this.#throwUnlessIdle();
    const from = this.#mode;
    if (STRENGTH[to] >= STRENGTH[from]) throw this.#illegal(`that cannot be downgraded to ${to}`);
    this.#mode = to;
    const exchanged = await this.#bounded(this.#downgrade(to, from));
    if (exchanged.type === 'failed') {
      throw new StoreUnavailableError(this.#hold.name, exchanged.outcomeKnown, exchanged.error);
    }
    this.#throwIfOver();
  }

  /** The upgrade was granted, with this token. */
  upgraded(token: number): void {
    this.#settle('write', 'upgradeable', token);
  }

  /** Takes an upgrade back, granted or not: afterwards the hold is upgradeable and nobody waits for it. */
  async cancelUpgrade(): Promise<void> {
    const exchanged = await this.exchange('upgradeable', false);
    if (exchanged.type === 'done') this.#hold.changed(exchanged.lease.token);
  }

  /** Sends one change until the server has answered. `onTrouble` hears of every time that it has not. */
  async exchange(to: Mode, waits: boolean, onTrouble?: (error: unknown) => void): Promise<Exchanged> {
    const { clock, combiner } = this.#context;
    const { id, name, grant } = this.#hold;
    this.#change += 1;
    const operation = { type: 'exchange', id, change: this.#change, to, waits } as const;
    const isOver = (): boolean => operation.change !== this.#change || this.#hold.ended !== undefined;
    this.#hold.changing();
    for (let repeats = 0; !isOver(); repeats += 1) {
      const outcome = await combiner.submit(name, grant.seats, operation).outcome;
      if (isOver()) break;
      if (outcome.type === 'refused') return { type: 'failed', error: outcome.error, outcomeKnown: true };
      if (outcome.type === 'done') {
        const { reply } = outcome.value;
        const lease = reply?.leases.find((candidate) => candidate.id === id);
        if (reply !== null && lease !== undefined) {
          return { type: 'done', lease, reply, sentAt: outcome.sentAt };
        }
        // It is gone: whichever way, this tells the hold.
        await this.#owner.confirm(this.#hold);
      } else {
        onTrouble?.(outcome.error);
      }
      const pauseMs = Math.min(FIRST_REPEAT_MS * 2 ** Math.min(repeats, 10), MAX_REPEAT_MS);
      if (!isOver()) await sleepUntil(clock, clock.nowMs() + pauseMs * (0.5 + Math.random() / 2));
    }
    return { type: 'over' };
  }

  /** Until when the hold can be relied on, by an answer that shows its lease. */
  deadlineOf({ lease, reply, sentAt }: Extract<Exchanged, { type: 'done' }>): Moment {
    const { clockAllowanceMs } = this.#hold.grant.terms;
    return after(sentAt, leftMs(lease.expiresAt, reply.nowMs, lease.leaseMs) - clockAllowanceMs);
  }

  async #downgrade(to: Mode, from: Mode): Promise<Exchanged> {
    const exchanged = await this.exchange(to, false);
    if (exchanged.type === 'done') this.#settle(to, from, exchanged.lease.token);
    return exchanged;
  }

  #settle(mode: Mode, previousMode: Mode, token: number): void {
    this.#mode = mode;
    this.#hold.changed(token);
    const { id, name, grant } = this.#hold;
    const event = { lockName: name, kind: grant.seats.kind, id, fencingToken: this.#hold.token };
    this.#context.report('modeChanged', { ...event, mode, previousMode });
  }

  /** A downgrade does not wait for a store that does not answer; the background goes on. */
  async #bounded(exchanged: Promise<Exchanged>): Promise<Exchanged> {
    const { clock, settings } = this.#context;
    let timer: Timer | undefined;
    const over = new Promise<Exchanged>((resolve) => {
      timer = clock.at(clock.nowMs() + settings.storeTimeoutMs, () => {
        const error = new Error(`no answer within ${String(settings.storeTimeoutMs)} ms`);
        resolve({ type: 'failed', error, outcomeKnown: false });
      });
    });
    const first = await Promise.race([exchanged, over]);
    timer?.cancel();
    return first;
  }

  #throwUnlessIdle(): void {
    this.#throwIfOver();
    if (this.#isUpgrading) throw this.#illegal('an upgrade is in progress');
  }

  #throwIfOver(): void {
    const { ended, name } = this.#hold;
    if (ended !== undefined) throw new LockLostError(name, ended);
  }

  #illegal(detail: string): LockModeError {
    return new LockModeError(this.#hold.name, this.#mode, detail);
  }
}
