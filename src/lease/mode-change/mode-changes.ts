// Folder `mode-change`: sends numbered changes of the mode of a hold to the server. An upgrade may have to wait, like a
// request for a lock.

import { within } from '../../clock.js';
import { ProviderClosedError, StoreUnavailableError } from '../../errors.js';
import type { ParsedWait } from '../../options/request-options.js';
import type { Mode } from '../../protocol/lock-document.js';
import { unavailable } from '../../store/unavailable.js';
import type { LeaseContext } from '../acquiring/lease-context.js';
import type { Hold } from '../holding/hold.js';
import { lossError } from '../holding/loss.js';
import type { HandleHolds } from '../holding/lease-handle.js';
import { ModeExchange } from './mode-exchange.js';
import { ModeChangeGuard } from './mode-change-guard.js';
import { Upgrade } from './upgrade.js';

/**
 * The mode of one hold of a reader-writer lock, and its changes, one at a time.
 *
 * The mode in this process is never stronger than the stored one: a downgrade takes effect here before it is sent, and
 * an upgrade takes effect here when its grant is known.
 */
export class ModeChanges {
  readonly #context: LeaseContext;
  readonly #hold: Hold;
  readonly #exchange: ModeExchange;
  readonly #guard: ModeChangeGuard;

  constructor(context: LeaseContext, holds: HandleHolds, hold: Hold) {
    this.#context = context;
    this.#guard = new ModeChangeGuard(hold.name, () => this.mode);
    this.#hold = hold;
    this.#exchange = new ModeExchange(context, holds, hold);
  }

  get mode(): Mode {
    return this.#exchange.mode;
  }

  /**
   * Waits until the hold is a write.
   *
   * @throws The errors of an acquire, or {@link LockModeError}: these leave the mode unchanged. {@link LockLostError}
   *   if the hold is over.
   */
  async upgrade(options: ParsedWait): Promise<void> {
    options.signal?.throwIfAborted();
    this.#throwIfOver();
    this.#guard.throwUnlessUpgradeable();
    if (this.#context.closing.aborted) throw new ProviderClosedError(this.#hold.name);
    this.#context.makeWay(this.#hold.name);
    const upgrade = new Upgrade(this.#context, this.#hold, this.#exchange, options);
    await this.#guard.run('an upgrade', () => upgrade.run());
  }

  /**
   * Takes the weaker mode in this process at once, and waits until the server has stored it.
   *
   * @throws {@link LockModeError}; {@link LockLostError}; {@link CorruptLockDocumentError};
   *   {@link StoreUnavailableError} if no answer has shown the change within `storeTimeoutMs`, or if the driver refuses
   *   the change. Unless the driver refuses, the library repeats the change in the background.
   */
  async downgrade(to: Exclude<Mode, 'write'>): Promise<void> {
    this.#throwIfOver();
    this.#guard.throwUnlessWeaker(to);
    const from = this.mode;
    this.#exchange.weaken(to);
    await this.#guard.run('a downgrade', () => this.#downgrade(to, from));
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

  #throwIfOver(): void {
    const ended = this.#hold.checkEnd();
    if (ended !== undefined) throw lossError(this.#hold, ended);
  }
}
