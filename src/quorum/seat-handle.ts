import { within } from '../clock.js';
import { LockLostError } from '../errors.js';
import type { LossCause } from '../errors.js';
import { newNonce } from '../lease/ids.js';
import type { LeaseContext } from '../lease/acquiring/lease-context.js';
import type { Hold } from '../lease/holding/hold.js';
import type { HandleHolds } from '../lease/holding/lease-handle.js';
import { lossError } from '../lease/holding/loss.js';
import { ModeChanges } from '../lease/mode-change/mode-changes.js';
import { ReaderWriterLeaseHandle } from '../lease/mode-change/reader-writer-handle.js';
import type { Revocation } from '../protocol/operation.js';
import { fateOf } from '../protocol/replies/reply.js';
import type { Outcome } from '../store/outcome.js';
import { isAnswered, settle } from '../store/settle.js';
import { unavailable } from '../store/unavailable.js';
import type { Answer } from '../store/updates/combiner.js';
import type { StoreSeat } from './store.js';

/** The handle of a seat in one deployment. It can also raise the fence of that deployment. */
export class SeatHandle extends ReaderWriterLeaseHandle implements StoreSeat {
  readonly store: number;
  readonly #context: LeaseContext;
  readonly #hold: Hold;

  constructor(hold: Hold, owner: HandleHolds, context: LeaseContext, store: number) {
    super(hold, owner, new ModeChanges(context, owner, hold));
    this.store = store;
    this.#context = context;
    this.#hold = hold;
  }

  checkEnd(): LossCause | undefined {
    return this.#hold.checkEnd();
  }

  get foundGone(): LossCause | undefined {
    return this.#hold.foundGone;
  }

  get revocation(): Revocation | undefined {
    return this.#hold.revocation;
  }

  async raiseFence(token: number): Promise<void> {
    const { clock, settings } = this.#context;
    let trouble: unknown = new Error(`no answer within ${String(settings.storeTimeoutMs)} ms`);
    const send = async (): Promise<Outcome<Answer>> => {
      const outcome = await this.#sendFence(token);
      if (outcome.type === 'unknown') trouble = outcome.error;
      return outcome;
    };
    const over = new AbortController();
    const isSettled = (outcome: Outcome<Answer>): boolean =>
      isAnswered(outcome) || this.checkEnd() !== undefined;
    const settled = settle(send, { clock, isSettled, signal: over.signal });
    const outcome = await within(clock, settings.storeTimeoutMs, settled);
    over.abort();
    if (outcome === undefined) throw unavailable(this.name, false, trouble);
    this.#throwUnlessRaised(token, outcome);
  }

  #sendFence(token: number): Promise<Outcome<Answer>> {
    const { id, name, grant } = this.#hold;
    const operation = { type: 'raiseFence', id, token, nonce: newNonce(this.#context.clock) } as const;
    return this.#context.combiner.submit(name, grant.rules, operation).outcome;
  }

  #throwUnlessRaised(token: number, outcome: Outcome<Answer>): void {
    const { name } = this;
    const ended = this.checkEnd();
    if (ended !== undefined) throw lossError(this.#hold, ended);
    if (outcome.type !== 'done') throw unavailable(name, isAnswered(outcome), outcome.error);
    const { reply } = outcome.value;
    const isMine = reply !== null && fateOf(reply, this.id).type === 'granted';
    if (isMine && reply.fence >= token) return;
    // The lease is gone. The cause `evicted` is a guess, because the reply does not show the true cause.
    throw new LockLostError(name, 'evicted');
  }
}
