import { LockModeError } from '../../errors.js';
import type { Mode } from '../../protocol/lock-document.js';

type Change = 'an upgrade' | 'a downgrade';

const STRENGTH: Readonly<Record<Mode, number>> = { read: 0, upgradeable: 1, write: 2 };

/**
 * Decides which changes of mode one hold may begin, one at a time. The rules are the same for a hold of one lease and
 * for a hold of a majority of several.
 */
export class ModeChangeGuard {
  readonly #lockName: string;
  readonly #mode: () => Mode;
  #inProgress: Change | undefined;

  constructor(lockName: string, mode: () => Mode) {
    this.#lockName = lockName;
    this.#mode = mode;
  }

  /** @throws {@link LockModeError} unless an upgrade may begin. */
  throwUnlessUpgradeable(): void {
    this.#throwUnlessIdle();
    if (this.#mode() !== 'upgradeable') throw this.#illegal('only an upgradeable read can be upgraded');
  }

  /** @throws {@link LockModeError} unless a downgrade to this mode may begin. */
  throwUnlessWeaker(to: Mode): void {
    this.#throwUnlessIdle();
    if (STRENGTH[to] < STRENGTH[this.#mode()]) return;
    throw this.#illegal(`that cannot be downgraded to ${to}`);
  }

  /** Calls `change` at once, and lets no other change begin until `change` has settled. */
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
