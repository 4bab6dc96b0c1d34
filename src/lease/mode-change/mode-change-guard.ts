import { LockModeError } from '../../errors.js';
import type { Mode } from '../../protocol/lock-document.js';

type Change = 'an upgrade' | 'a downgrade';

const STRENGTH: Readonly<Record<Mode, number>> = { read: 0, upgradeable: 1, write: 2 };

/** Decides which changes of mode one hold may begin, one at a time. A hold in a quorum follows the same rules. */
export class ModeChangeGuard {
  readonly #lockName: string;
  readonly #mode: () => Mode;
  #inProgress: Change | undefined;

  constructor(lockName: string, mode: () => Mode) {
    this.#lockName = lockName;
    this.#mode = mode;
  }

  /** @throws {@link LockModeError} if no upgrade may begin now. */
  throwUnlessUpgradeable(): void {
    this.#throwUnlessIdle();
    if (this.#mode() !== 'upgradeable') throw this.#illegal('only an upgradeable read can be upgraded');
  }

  /** @throws {@link LockModeError} if no downgrade to this mode may begin now. */
  throwUnlessWeaker(to: Mode): void {
    this.#throwUnlessIdle();
    if (STRENGTH[to] < STRENGTH[this.#mode()]) return;
    throw this.#illegal(`that cannot be downgraded to ${to}`);
  }

  /** Calls `change` at once. No other change may begin until `change` has settled. */
  async run(name: Change, change: () => Promise<void>): Promise<void> {
    this.#inProgress = name;
    try {
      await change();
    } finally {
      this.#inProgress = undefined;
    }
  }

  #throwUnlessIdle(): void {
    if (this.#inProgress !== undefined) throw this.#illegal(`${this.#inProgress} is in progress`);
  }

  #illegal(detail: string): LockModeError {
    return new LockModeError(this.#lockName, this.#mode(), detail);
  }
}
