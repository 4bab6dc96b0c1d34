import { AcquireTimeoutError } from '../errors.js';
import { keepAlive } from '../keep-alive.js';
import { LeaseHandle } from '../lease/holding/lock-handle.js';
import type { ReaderWriterHandle } from '../lease/mode-change/reader-writer-handle.js';
import { parseDowngrade, parseUpgradeOptions } from '../options/request-options.js';
import type { AcquireOptions } from '../options/request-options.js';
import type { Mode } from '../protocol/lock-document.js';
import type { QuorumHold } from './quorum-hold.js';
import { QuorumModeChanges } from './quorum-mode-changes.js';
import { quorumOwner } from './quorum-owner.js';
import type { Quorum } from './quorum.js';

/** The handle of a hold whose mode can change. */
export class QuorumReaderWriterHandle extends LeaseHandle<QuorumHold> implements ReaderWriterHandle {
  readonly #changes: QuorumModeChanges;

  constructor(hold: QuorumHold, quorum: Quorum) {
    super(hold, quorumOwner);
    this.#changes = new QuorumModeChanges(quorum, hold);
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
