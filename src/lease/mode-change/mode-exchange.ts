import type { Moment } from '../../clock.js';
import { CorruptLockDocumentError } from '../../errors.js';
import type { Lease, Mode } from '../../protocol/lock-document.js';
import type { Reply } from '../../protocol/replies/reply.js';
import type { Answer } from '../../store/updates/combiner.js';
import type { Done } from '../../store/outcome.js';
import { settle } from '../../store/settle.js';
import type { LeaseContext } from '../acquiring/lease-context.js';
import { deadlineOf } from '../deadline.js';
import type { Hold } from '../holding/hold.js';
import type { HandleHolds } from '../holding/lease-handle.js';

export type Changed =
  | {
      readonly type: 'done';
      readonly lease: Lease;
      readonly reply: Reply;
      readonly sentAt: Moment;
      readonly deadline: Moment;
    }
  /** The hold is over, or a later change has begun: the result does not matter any more. */
  | { readonly type: 'over' }
  | { readonly type: 'failed'; readonly error: unknown };

export interface SendOptions {
  /** Whether an upgrade waits for the other readers. If not, the upgrade is a try. */
  readonly waits?: boolean;
  /**
   * Whether to repeat the change even after the server has refused it. A downgrade and the cancel of an upgrade need
   * this: the stored mode must not stay stronger than the mode in this process.
   */
  readonly persists: boolean;
  /** Called with the error each time the change is refused or its outcome is unknown, while the result matters. */
  readonly onTrouble?: (error: unknown) => void;
}

/**
 * Sends the changes of one hold's mode to the store.
 *
 * Each change has a higher number than the one before. The server ignores a change unless its number is above the
 * number of the last change of that lease. So a change may be repeated until it is answered, and a late copy
 * does no harm.
 */
export class ModeExchange {
  readonly #context: LeaseContext;
  readonly #holds: HandleHolds;
  readonly #hold: Hold;
  #mode: Mode;
  #change = 0;

  constructor(context: LeaseContext, holds: HandleHolds, hold: Hold) {
    this.#context = context;
    this.#holds = holds;
    this.#hold = hold;
    this.#mode = hold.grant.demand.mode ?? 'write';
  }

  get mode(): Mode {
    return this.#mode;
  }

  /** Weakens the mode in this process, before the change is sent to the server. */
  weaken(to: Mode): void {
    this.#mode = to;
  }

  /**
   * Called when the answer to the last change, or the report of a granted upgrade, shows this mode and this token.
   * Notes both in this process, and reports `modeChanged` if the mode is not `previousMode`.
   */
  modeKnown(mode: Mode, previousMode: Mode, token: number): void {
    this.#mode = mode;
    this.#hold.changed(token);
    if (mode === previousMode) return;
    this.#context.report('modeChanged', { ...this.#hold.event, mode, previousMode });
  }

  /**
   * Sends a change until an answer shows it, until it has failed, or until its result does not matter any more. With
   * `persists`, a refusal by the server is no failure.
   */
  async send(to: Mode, { waits = false, persists, onTrouble }: SendOptions): Promise<Changed> {
    const { clock, combiner } = this.#context;
    const { id, name, grant } = this.#hold;
    this.#change += 1;
    const change = this.#change;
    const knownToken = to === 'write' ? this.#hold.token : undefined;
    const operation = { type: 'exchange', id, change, to, waits, knownToken } as const;
    const isOver = (): boolean => change !== this.#change || this.#hold.checkEnd() !== undefined;
    this.#hold.seat.changing();
    const send = async (): Promise<Changed | undefined> => {
      if (isOver()) return { type: 'over' };
      const outcome = await combiner.submit(name, grant.rules, operation).outcome;
      if (isOver()) return { type: 'over' };
      if (outcome.type === 'done') return await this.#read(outcome, change);
      onTrouble?.(outcome.error);
      const isFinal = outcome.type === 'refused' && !(persists && outcome.byServer);
      return isFinal ? { type: 'failed', error: outcome.error } : undefined;
    };
    const isSettled = (changed: Changed | undefined): boolean => changed !== undefined;
    return (await settle(send, { clock, isSettled, isOver })) ?? { type: 'over' };
  }

  /**
   * Reads the answer to a change. Returns `undefined` if the change must be sent again: the answer does not show the
   * change, the hold is not over, and the document is not corrupt.
   */
  async #read({ value: { reply }, sentAt }: Done<Answer>, change: number): Promise<Changed | undefined> {
    const { id, name, grant } = this.#hold;
    const lease = reply?.leases.find((candidate) => candidate.id === id);
    if (reply?.isWellFormed === true && lease?.change === change) {
      const deadline = deadlineOf(lease, reply.nowMs, sentAt, grant.durations);
      return { type: 'done', lease, reply, sentAt, deadline };
    }
    // The lease is gone, or the document is corrupt. If the lease is gone and the server answers, `confirm` ends the
    // hold.
    await this.#holds.confirm(this.#hold);
    if (this.#hold.checkEnd() !== undefined) return { type: 'over' };
    return reply?.isWellFormed === false
      ? { type: 'failed', error: new CorruptLockDocumentError(name) }
      : undefined;
  }
}
