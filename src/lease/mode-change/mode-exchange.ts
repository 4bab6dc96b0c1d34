import { pauseBeforeRepeat } from '../../clock.js';
import type { Moment } from '../../clock.js';
import { CorruptLockDocumentError } from '../../errors.js';
import type { Lease, Mode } from '../../protocol/lock-document.js';
import type { Reply } from '../../protocol/replies/reply.js';
import type { Answer } from '../../store/updates/combiner.js';
import type { Done } from '../../store/outcome.js';
import type { AcquisitionContext } from '../acquiring/acquisition-context.js';
import { deadlineOf } from '../deadline.js';
import type { HeldLease } from '../holding/held-lease.js';
import type { HandleOwner } from '../holding/lock-handle.js';

/** What sending a change came to. */
export type Changed =
  | {
      readonly type: 'done';
      readonly lease: Lease;
      readonly reply: Reply;
      readonly sentAt: Moment;
      readonly deadline: Moment;
    }
  /** The hold is over, or a later change has begun: nobody needs to know any more. */
  | { readonly type: 'over' }
  | { readonly type: 'failed'; readonly error: unknown };

export interface SendOptions {
  /** Of an upgrade: waits for the other readers. */
  readonly waits?: boolean;
  /** Whether to go on after a refusal: what is stored must not stay stronger than what is believed. */
  readonly persists: boolean;
  /** Hears of every time that the store has not answered. */
  readonly onTrouble?: (error: unknown) => void;
}

/**
 * The mode of one hold, and what sends its changes to the store.
 *
 * Each change has a number that rises, and the server does nothing for one that is not above the last it has seen: so
 * each may be repeated until it is answered, and a late copy does no harm.
 */
export class ModeExchange {
  readonly #context: AcquisitionContext;
  readonly #owner: HandleOwner;
  readonly #hold: HeldLease;
  #mode: Mode;
  #change = 0;

  constructor(context: AcquisitionContext, owner: HandleOwner, hold: HeldLease) {
    this.#context = context;
    this.#owner = owner;
    this.#hold = hold;
    this.#mode = hold.grant.demand.mode ?? 'write';
  }

  get mode(): Mode {
    return this.#mode;
  }

  /** Gives up what the mode allowed beyond this one, before the server is told. */
  weaken(to: Mode): void {
    this.#mode = to;
  }

  /** The last change that was sent is known to have made the hold this, with this token. */
  settle(mode: Mode, previousMode: Mode, token: number): void {
    this.#mode = mode;
    this.#hold.changed(token);
    if (mode === previousMode) return;
    const { id, name, grant } = this.#hold;
    const event = { lockName: name, kind: grant.seats.kind, id, fencingToken: this.#hold.token };
    this.#context.report('modeChanged', { ...event, mode, previousMode });
  }

  /** Sends a change until the server has answered it, or it does not matter any more. */
  async send(to: Mode, { waits = false, persists, onTrouble }: SendOptions): Promise<Changed> {
    const { clock, combiner } = this.#context;
    const { id, name, grant } = this.#hold;
    this.#change += 1;
    const change = this.#change;
    const knownToken = to === 'write' ? this.#hold.token : undefined;
    const operation = { type: 'exchange', id, change, to, waits, knownToken } as const;
    const isOver = (): boolean => change !== this.#change || this.#hold.ended !== undefined;
    this.#hold.changing();
    for (let repeats = 0; !isOver(); repeats += 1) {
      const outcome = await combiner.submit(name, grant.seats, operation).outcome;
      if (isOver()) break;
      if (outcome.type === 'done') {
        const changed = await this.#read(outcome, change);
        if (changed !== undefined) return changed;
      } else {
        onTrouble?.(outcome.error);
        const isFinal = outcome.type === 'refused' && !(persists && outcome.byServer);
        if (isFinal) return { type: 'failed', error: outcome.error };
      }
      if (!isOver()) await pauseBeforeRepeat(clock, repeats);
    }
    return { type: 'over' };
  }

  /** `undefined`: the answer shows no lease that has seen the change, though it may. */
  async #read({ value: { reply }, sentAt }: Done<Answer>, change: number): Promise<Changed | undefined> {
    const { id, name, grant } = this.#hold;
    const lease = reply?.leases.find((candidate) => candidate.id === id);
    if (reply?.sound === true && lease?.change === change) {
      const deadline = deadlineOf(lease, reply.nowMs, sentAt, grant.terms);
      return { type: 'done', lease, reply, sentAt, deadline };
    }
    // Either the lease is gone, which the confirmation tells the hold, or the document is corrupt.
    await this.#owner.confirm(this.#hold);
    if (this.#hold.ended !== undefined) return { type: 'over' };
    return reply?.sound === false ? { type: 'failed', error: new CorruptLockDocumentError(name) } : undefined;
  }
}
