// Mode changes: sends numbered changes of the mode of a hold to the server. An upgrade waits for its turn as an acquire
// does.

import { within } from '../../clock.js';
import { LockModeError, ProviderClosedError, StoreUnavailableError } from '../../errors.js';
import type { ParsedWait } from '../../options/request-options.js';
import type { Mode } from '../../protocol/lock-document.js';
import { unavailable } from '../../store/unavailable.js';
import type { AcquisitionContext } from '../acquiring/acquisition-context.js';
import type { Hold } from '../holding/hold.js';
import { lossError } from '../holding/loss.js';
import type { HandleHolds } from '../holding/lease-handle.js';
import { ModeExchange } from './mode-exchange.js';
import { Upgrade } from './upgrade.js';

const STRENGTH: Readonly<Record<Mode, number>> = { read: 0, upgradeable: 1, write: 2 };

/**
 * The mode of one hold of a reader-writer lock, and its changes, one at a time.
 *
 * The mode in this process is never stronger than the stored one: a downgrade takes effect here before it is sent, and an
 * upgrade takes effect here when its grant is known.
 */
export class ModeChanges {
  readonly #context: AcquisitionContext;
  readonly #hold: Hold;
  readonly #exchange: ModeExchange;
  #inProgress: 'an upgrade' | 'a downgrade' | undefined;

  constructor(context: AcquisitionContext, holds: HandleHolds, hold: Hold) {
    this.#context = context;
    this.#hold = hold;
    this.#exchange = new ModeExchange(context, holds, hold);
  }

  get mode(): Mode {
    return this.#exchange.mode;
  }

  /** @throws The errors of an acquire; {@link LockModeError}, {@link LockLostError}. The mode then stays. */
  async upgrade(options: ParsedWait): Promise<void> {
    options.signal?.throwIfAborted();
    this.#throwUnlessIdle();
    if (this.mode !== 'upgradeable') throw this.#illegal('only an upgradeable read can be upgraded');
    if (this.#context.closing.aborted) throw new ProviderClosedError(this.#hold.name);
    this.#inProgress = 'an upgrade';
    try {
      await new Upgrade(this.#context, this.#hold, this.#exchange, options).run();
    } finally {
      this.#inProgress = undefined;
    }
  }

  /**
   * @throws {@link LockModeError}, {@link LockLostError}; {@link StoreUnavailableError}, and then the change is repeated in
   *   the background.
   */
  async downgrade(to: Exclude<Mode, 'write'>): Promise<void> {
    this.#throwUnlessIdle();
    const from = this.mode;
    if (STRENGTH[to] >= STRENGTH[from]) throw this.#illegal(`that cannot be downgraded to ${to}`);
    this.#exchange.weaken(to);
    this.#inProgress = 'a downgrade';
    try {
      await this.#downgrade(to, from);
    } finally {
      this.#inProgress = undefined;
    }
  }

  async #downgrade(to: Mode, from: Mode): Promise<void> {
    const { clock, settings } = this.#context;
    const { name } = this.#hold;
    let trouble: unknown = new Error(`no answer within ${String(settings.storeTimeoutMs)} ms`);
    const onTrouble = (error: unknown): void => {
      trouble = error;
    };
    const sent = this.#exchange.send(to, { persists: true, onTrouble }).then((changed) => {
      if (changed.type === 'done') this.#exchange.modeKnown(to, from, changed.lease.token);
      return changed;
    });
    const changed = await within(clock, settings.storeTimeoutMs, sent);
    this.#throwIfOver();
    if (changed === undefined) throw new StoreUnavailableError(name, false, trouble);
    if (changed.type === 'failed') {
      throw unavailable(name, false, changed.error);
    }
  }

  #throwUnlessIdle(): void {
    this.#throwIfOver();
    if (this.#inProgress !== undefined) throw this.#illegal(`${this.#inProgress} is in progress`);
  }

  #throwIfOver(): void {
    const ended = this.#hold.checkEnd();
    if (ended !== undefined) throw lossError(this.#hold, ended);
  }

  #illegal(detail: string): LockModeError {
    return new LockModeError(this.#hold.name, this.mode, detail);
  }
}
