import { LinkedController } from '../abort-listeners.js';
import { AcquireTimeoutError, ProviderClosedError } from '../errors.js';
import { lossError } from '../lease/holding/loss.js';
import { ModeChangeGuard } from '../lease/mode-change/mode-change-guard.js';
import type { ParsedWait } from '../options/request-options.js';
import type { Mode } from '../protocol/lock-document.js';
import { highestToken, raiseFences } from './hold-token.js';
import { QuorumError } from './quorum-error.js';
import type { QuorumHold } from './quorum-hold.js';
import { awaitQuorum, callSeats } from './quorum.js';
import type { Quorum, SeatCall } from './quorum.js';
import type { StoreFailure } from './store-failure.js';

/**
 * Changes the mode of one hold of a reader-writer lock, one change at a time. A change is complete when a majority of
 * all stores has changed the mode and has raised the fence to the new token. The hold shows a stronger mode only after
 * a complete upgrade, and a weaker mode before any store is asked to downgrade.
 */
export class QuorumModeChanges {
  readonly #quorum: Quorum;
  readonly #hold: QuorumHold;
  readonly #guard: ModeChangeGuard;

  constructor(quorum: Quorum, hold: QuorumHold) {
    this.#quorum = quorum;
    this.#hold = hold;
    this.#guard = new ModeChangeGuard(hold.name, () => hold.mode);
  }

  get mode(): Mode {
    return this.#hold.mode;
  }

  /**
   * Upgrades all seats at once. When a majority has upgraded and raised its fences, every other seat is released, and
   * its store is asked for a write seat. If the upgrade fails in any way, each upgraded seat is downgraded again.
   */
  async upgrade(wait: ParsedWait): Promise<void> {
    wait.signal?.throwIfAborted();
    this.#throwIfOver();
    this.#guard.throwUnlessUpgradeable();
    if (this.#quorum.closing.aborted) throw new ProviderClosedError(this.#hold.name);
    await this.#change('an upgrade', async () => {
      const decided = new LinkedController(wait.signal);
      try {
        await this.#upgrade(wait, decided);
      } finally {
        decided.unlink();
      }
    });
  }

  async #upgrade(wait: ParsedWait, decided: AbortController): Promise<void> {
    const { timeoutMs } = wait;
    const { majority } = this.#quorum;
    const calls = callSeats(this.#hold.seats, (seat) => seat.upgrade({ timeoutMs, signal: decided.signal }));
    const { seats: upgraded, failures } = await awaitQuorum(calls, majority);
    // Aborts the upgrades that still wait.
    decided.abort();
    try {
      if (upgraded.length < majority) throw this.#upgradeError(failures, wait);
      const token = Math.max(this.#hold.token, highestToken(upgraded));
      const { seats, failures: unfenced } = await raiseFences(upgraded, token, majority);
      this.#throwIfOver();
      // A seat may be lost while the fences of the other seats are raised.
      const fenced = seats.filter((seat) => seat.checkEnd() === undefined);
      if (fenced.length < majority) throw this.#quorumError(unfenced);
      this.#hold.setMode('write', token, fenced);
      this.#throwIfOver();
    } catch (error) {
      await Promise.all(calls.map(backToUpgradeable));
      throw error;
    }
  }

  #upgradeError(failures: readonly StoreFailure[], { timeoutMs, signal }: ParsedWait): unknown {
    const ended = this.#hold.checkEnd();
    if (ended !== undefined) return lossError(this.#hold, ended);
    if (signal?.aborted === true) return signal.reason;
    const errors = failures.map(({ error }) => error);
    const timeout = errors.find((error) => error instanceof AcquireTimeoutError);
    if (timeout !== undefined && timeoutMs > 0) {
      this.#quorum.report('timeout', { ...this.#hold.event, waitedMs: timeout.waitedMs });
    }
    const closed = errors.find((error) => error instanceof ProviderClosedError);
    return timeout ?? closed ?? this.#quorumError(failures);
  }

  async downgrade(to: 'upgradeable' | 'read'): Promise<void> {
    this.#throwIfOver();
    this.#guard.throwUnlessWeaker(to);
    await this.#change('a downgrade', () => this.#downgrade(to));
  }

  async #downgrade(to: 'upgradeable' | 'read'): Promise<void> {
    const { majority } = this.#quorum;
    const hold = this.#hold;
    const { seats } = hold;
    hold.weaken(to);
    const calls = callSeats(seats, (seat) => seat.downgrade(to));
    const { seats: followed, failures } = await awaitQuorum(calls, majority);
    this.#throwIfOver();
    if (followed.length < majority) throw this.#quorumError(failures);
    const token = Math.max(hold.token, highestToken(followed));
    const { seats: fenced, failures: unfenced } = await raiseFences(followed, token, majority);
    this.#throwIfOver();
    if (fenced.length < majority) throw this.#quorumError(unfenced);
    hold.setMode(to, token);
    this.#throwIfOver();
  }

  async #change(name: 'an upgrade' | 'a downgrade', change: () => Promise<void>): Promise<void> {
    await this.#guard.run(name, async () => {
      this.#hold.setChanging(true);
      try {
        await change();
      } finally {
        this.#hold.setChanging(false);
      }
    });
  }

  #throwIfOver(): void {
    const ended = this.#hold.checkEnd();
    if (ended !== undefined) throw lossError(this.#hold, ended);
  }

  #quorumError(failures: readonly StoreFailure[]): QuorumError {
    return new QuorumError(this.#hold.name, this.#quorum.stores.length, failures);
  }
}

/** Downgrades a seat if its upgrade has succeeded or succeeds late. */
async function backToUpgradeable({ seat, done }: SeatCall): Promise<void> {
  try {
    await done;
    await seat.downgrade('upgradeable');
  } catch {
    // The upgrade failed, the seat has ended, or its downgrade goes on in the background.
  }
}
