import { pauseBeforeRepeat, within } from '../clock.js';
import { LockLostError, StoreUnavailableError } from '../errors.js';
import type { LossCause } from '../errors.js';
import { newNonce } from '../lease/ids.js';
import type { AcquisitionContext } from '../lease/acquiring/acquisition-context.js';
import type { HeldLease } from '../lease/holding/held-lease.js';
import type { HandleOwner } from '../lease/holding/lock-handle.js';
import { lossOf } from '../lease/holding/loss.js';
import { ModeChanges } from '../lease/mode-change/mode-changes.js';
import { ReaderWriterLeaseHandle } from '../lease/mode-change/reader-writer-handle.js';
import type { Revocation } from '../protocol/operation.js';
import { fateOf } from '../protocol/replies/reply.js';
import type { Seat } from './store.js';

/** A seat in one deployment: the handle of its lease, which can also raise the fence. */
export class SeatHandle extends ReaderWriterLeaseHandle implements Seat {
  readonly store: number;
  readonly #context: AcquisitionContext;
  readonly #lease: HeldLease;

  constructor(lease: HeldLease, owner: HandleOwner, context: AcquisitionContext, store: number) {
    super(lease, owner, new ModeChanges(context, owner, lease));
    this.store = store;
    this.#context = context;
    this.#lease = lease;
  }

  get ended(): LossCause | undefined {
    return this.#lease.ended;
  }

  get foundGone(): LossCause | undefined {
    return this.#lease.foundGone;
  }

  get revocation(): Revocation | undefined {
    return this.#lease.revocation;
  }

  async raiseFence(token: number): Promise<void> {
    const { clock, settings } = this.#context;
    const trouble: { last: unknown } = {
      last: new Error(`no answer within ${String(settings.storeTimeoutMs)} ms`),
    };
    const over = new AbortController();
    const raised = this.#raiseFence(token, over.signal, trouble);
    const isRaised = await within(clock, settings.storeTimeoutMs, raised);
    over.abort();
    if (isRaised !== true) throw new StoreUnavailableError(this.name, false, trouble.last);
  }

  /** Repeats the command until there is an answer; `false` if there was none in time. */
  async #raiseFence(token: number, over: AbortSignal, trouble: { last: unknown }): Promise<boolean> {
    const { clock, combiner } = this.#context;
    const { id, name, grant } = this.#lease;
    for (let repeats = 0; !over.aborted; repeats += 1) {
      const operation = { type: 'raiseFence', id, token, nonce: newNonce() } as const;
      const outcome = await combiner.submit(name, grant.seats, operation).outcome;
      const { ended } = this;
      if (ended !== undefined) throw lossOf(this.#lease, ended);
      if (outcome.type === 'done') {
        const { reply } = outcome.value;
        const isMine = reply !== null && fateOf(reply, id).type === 'granted';
        if (isMine && reply.fence >= token) return true;
        // Only the lease monitor finds out the true cause of the loss.
        throw new LockLostError(name, 'evicted');
      }
      if (outcome.type === 'refused') throw new StoreUnavailableError(name, true, outcome.error);
      trouble.last = outcome.error;
      await pauseBeforeRepeat(clock, repeats);
    }
    return false;
  }
}
