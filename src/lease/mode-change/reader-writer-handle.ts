import { AcquireTimeoutError } from '../../errors.js';
import { keepAlive } from '../../keep-alive.js';
import { parseDowngrade, parseUpgradeOptions } from '../../options/request-options.js';
import type { AcquireOptions } from '../../options/request-options.js';
import type { Mode } from '../../protocol/lock-document.js';
import { sharedMode } from '../holding/fencing-eligibility.js';
import type { HeldLease } from '../holding/held-lease.js';
import { LeaseHandle } from '../holding/lock-handle.js';
import type { HandleOwner, LockHandle } from '../holding/lock-handle.js';
import type { ModeChanges } from './mode-changes.js';

/**
 * A reader-writer lock held so that its mode can change: by `acquireWrite` or `acquireUpgradeableRead`.
 *
 * Through all changes it stays the same object with the same id and signals. Each change brings a new, higher
 * `fencingToken`: read it at each use.
 */
export interface ReaderWriterHandle extends LockHandle {
  /** How the lock is held. */
  currentMode(): Mode;

  /**
   * Waits until the other readers have left, and holds the lock as a writer from then on. It stands before every
   * waiter, and nobody new comes in meanwhile. Of `options`, `timeoutMs` (default: no bound) and `signal` count: the
   * lease and what it is for stay those of the hold.
   *
   * Two that read and wait for each other's leaving never end: only one can be upgradeable, but a read held by the same
   * chain of calls is waited for as any other.
   *
   * @throws {@link LockModeError} unless it is held as upgradeable and no upgrade is in progress;
   *   {@link AcquireTimeoutError}; the reason of `options.signal`; {@link ProviderClosedError};
   *   {@link CorruptLockDocumentError}; {@link StoreUnavailableError} if the store refuses, or, of a single try, does not
   *   answer. After any of these the hold is upgradeable as before, and those whom the upgrade kept waiting go on.
   * @throws {@link LockLostError} if the hold is over.
   */
  upgrade(options?: AcquireOptions): Promise<void>;

  /** Like `upgrade`, with one try unless `timeoutMs` says otherwise; `false`, and still upgradeable, where that would time out. */
  tryUpgrade(options?: AcquireOptions): Promise<boolean>;

  /**
   * Goes down from write to upgradeable or read, or from upgradeable to read. Whoever fits beside the weaker mode comes in
   * by the same update. The stronger mode is given up at the call, before the store has answered.
   *
   * @throws `TypeError` or `RangeError` for another mode; {@link LockModeError} if the hold is not stronger than that, or
   *   a change of its mode is in progress: it stays as it was. {@link LockLostError} if the hold is over.
   * @throws {@link StoreUnavailableError} if the store refuses or does not answer within `storeTimeoutMs`: the hold has
   *   the weaker mode, and the change goes on in the background. {@link CorruptLockDocumentError}, which leaves it at
   *   that.
   */
  downgrade(to: 'upgradeable' | 'read'): Promise<void>;
}

/** @internal */
export class ReaderWriterLeaseHandle extends LeaseHandle implements ReaderWriterHandle {
  readonly #changes: ModeChanges;

  constructor(hold: HeldLease, owner: HandleOwner, changes: ModeChanges) {
    super(hold, owner);
    this.#changes = changes;
  }

  currentMode(): Mode {
    return this.#changes.mode;
  }

  override toJSON(): object {
    return { ...super.toJSON(), mode: this.currentMode() };
  }

  protected override shownAs(): string {
    return 'ReaderWriterHandle';
  }

  async upgrade(options?: AcquireOptions): Promise<void> {
    await keepAlive(this.#changes.upgrade(parseUpgradeOptions(options, 'upgrade')));
  }

  async tryUpgrade(options?: AcquireOptions): Promise<boolean> {
    const parsed = parseUpgradeOptions(options, 'tryUpgrade');
    try {
      await keepAlive(this.#changes.upgrade(parsed));
      return true;
    } catch (error) {
      if (error instanceof AcquireTimeoutError) return false;
      throw error;
    }
  }

  async downgrade(to: 'upgradeable' | 'read'): Promise<void> {
    await keepAlive(this.#changes.downgrade(parseDowngrade(to)));
  }

  /** By the mode that is believed, which is never stronger than the stored one. */
  override whyShared(): string | undefined {
    return sharedMode(this.#changes.mode);
  }
}
