import { AcquireTimeoutError } from '../../errors.js';
import { keepAlive } from '../../keep-alive.js';
import { parseDowngrade, parseUpgradeOptions } from '../../options/request-options.js';
import type { AcquireOptions, ParsedWait } from '../../options/request-options.js';
import type { Mode } from '../../protocol/lock-document.js';
import { sharedMode } from '../holding/fencing-eligibility.js';
import type { Hold } from '../holding/hold.js';
import { LeaseHandle } from '../holding/lease-handle.js';
import type { HandleHolds, Held } from '../holding/lease-handle.js';
import type { LockHandle } from '../holding/lock-handle.js';

/**
 * A hold of a reader-writer lock that can change its mode. Every request for a write or an upgradeable read gets such a
 * handle.
 *
 * The handle stays the same object, with the same id and signals, through all changes. Each change brings a new, higher
 * `fencingToken`: read the token at each use.
 */
export interface ReaderWriterHandle extends LockHandle {
  /** The mode in which the lock is held now. */
  currentMode(): Mode;

  /**
   * Waits until the other readers have left, and then holds the lock as a writer. The upgrade jumps the queue, and no
   * request for the lock is granted while the upgrade waits. `timeoutMs` (default: no bound) and `signal` of `options`
   * apply to the wait. The lease time and `why` stay those of the hold.
   *
   * An upgrade also waits for a plain read that the same caller holds, so release that read first.
   *
   * @throws {@link LockModeError} unless the mode is `upgradeable` and no change is in progress;
   *   {@link AcquireTimeoutError}; the reason of `options.signal`; {@link ProviderClosedError};
   *   {@link CorruptLockDocumentError}; {@link StoreUnavailableError} if the store refuses the upgrade, or does not
   *   answer a try (`timeoutMs: 0`); for a lock of a quorum, `QuorumError` in place of the last two. Each of these
   *   errors leaves the mode unchanged, and the queue goes on.
   * @throws {@link LockLostError} if the hold is over.
   */
  upgrade(options?: AcquireOptions): Promise<void>;

  /**
   * Like `upgrade`, but does not wait unless `timeoutMs` is given.
   *
   * @returns Whether the hold is a write now. `false`: a single try found other readers, or the time was up. The mode
   *   is then still `upgradeable`.
   */
  tryUpgrade(options?: AcquireOptions): Promise<boolean>;

  /**
   * Changes the mode from write to upgradeable or read, or from upgradeable to read. The update that stores the weaker
   * mode also admits the waiters that this mode allows. In this process the weaker mode counts from the call on, before
   * the store answers.
   *
   * @throws `TypeError` or `RangeError` for another value of `to`; {@link LockModeError} if the present mode is not
   *   stronger, or if another change is in progress. These errors leave the mode unchanged. {@link LockLostError} if
   *   the hold is over.
   * @throws {@link StoreUnavailableError} if the store refuses, or does not answer within `storeTimeoutMs`. The hold
   *   has the weaker mode, and the library repeats the change in the background, unless the client is closed.
   *   {@link CorruptLockDocumentError} if the document is corrupt. The hold then has the weaker mode, and the library
   *   does not repeat the change. For a lock of a quorum, `QuorumError` takes the place of these two, if fewer than a
   *   majority of the stores have made the change in time.
   */
  downgrade(to: 'upgradeable' | 'read'): Promise<void>;
}

interface Changes {
  readonly mode: Mode;
  upgrade(wait: ParsedWait): Promise<void>;
  downgrade(to: 'upgradeable' | 'read'): Promise<void>;
}

/**
 * The handle of a hold that can change its mode. The hold relies on one lease, or on a majority of several. @internal
 */
export class ModeChangingHandle<H extends Held = Hold> extends LeaseHandle<H> implements ReaderWriterHandle {
  readonly #changes: Changes;

  constructor(hold: H, holds: HandleHolds<H>, changes: Changes) {
    super(hold, holds);
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
}

/** @internal */
export class ReaderWriterLeaseHandle extends ModeChangingHandle {
  /** The result depends on the mode that this process knows, which is never stronger than the stored mode. */
  override whyShared(): string | undefined {
    return sharedMode(this.currentMode());
  }
}
