import { AcquireTimeoutError, LockLostError, LockModeError, ProviderClosedError } from '../errors.js';
import type { ParsedWait } from '../options/request-options.js';
import type { Mode } from '../protocol/lock-document.js';
import { QuorumError } from './quorum-error.js';
import type { QuorumHold } from './quorum-hold.js';
import { enough, fence, highestToken } from './quorum.js';
import type { Quorum } from './quorum.js';
import type { Seat } from './store.js';

const BY_STRENGTH: readonly Mode[] = ['read', 'upgradeable', 'write'];

/**
 * The mode of one hold of a reader-writer lock, and its changes, one at a time. A change counts when a majority of all
 * stores has made it: a stronger mode not before, and a weaker one in memory before any store hears of it.
 */
export class QuorumModeChanges {
  readonly #quorum: Quorum;
  readonly #hold: QuorumHold;
  #inProgress: 'an upgrade' | 'a downgrade' | undefined;

  constructor(quorum: Quorum, hold: QuorumHold) {
    this.#quorum = quorum;
    this.#hold = hold;
  }

  get mode(): Mode {
    return this.#hold.mode;
  }

  /**
   * All stores are asked at once; those that have not followed when a majority has are given back, and asked again as
   * writers. However it fails, those that have followed go back to upgradeable.
   */
  async upgrade(wait: ParsedWait): Promise<void> {
    wait.signal?.throwIfAborted();
    this.#throwUnlessIdle();
    const { name, mode } = this.#hold;
    if (mode !== 'upgradeable') throw this.#illegal('only an upgradeable read can be upgraded');
    if (this.#quorum.closing.aborted) throw new ProviderClosedError(name);
    this.#begin('an upgrade');
    const decided = new AbortController();
    const onAbort = (): void => {
      decided.abort(wait.signal?.reason);
    };
    wait.signal?.addEventListener('abort', onAbort, { once: true });
    try {
      await this.#upgrade(wait, decided);
    } finally {
      wait.signal?.removeEventListener('abort', onAbort);
      this.#settle();
    }
  }

  async #upgrade(wait: ParsedWait, decided: AbortController): Promise<void> {
    const { timeoutMs } = wait;
    const { majority } = this.#quorum;
    const asked = this.#hold.seats.map(async (seat) => {
      await seat.upgrade({ timeoutMs, signal: decided.signal });
      return seat;
    });
    const { values: upgraded, errors } = await enough(asked, majority);
    // Whoever waits still stays upgradeable.
    decided.abort();
    try {
      if (upgraded.length < majority) throw this.#whyNot(errors, wait);
      const token = Math.max(this.#hold.token, highestToken(upgraded));
      const { values, errors: unfenced } = await fence(upgraded, token, majority);
      this.#throwIfOver();
      // One may have been lost while the others were lifted.
      const fenced = values.filter(({ ended }) => ended === undefined);
      if (fenced.length < majority) throw this.#quorumError(unfenced);
      this.#hold.become('write', token, fenced);
      this.#throwIfOver();
    } catch (error) {
      await Promise.all(asked.map(backToUpgradeable));
      throw error;
    }
  }

  #whyNot(errors: readonly unknown[], { timeoutMs, signal }: ParsedWait): unknown {
    const { ended, event, name } = this.#hold;
    if (ended !== undefined) return new LockLostError(name, ended);
    if (signal?.aborted === true) return signal.reason;
    const timeout = errors.find((error) => error instanceof AcquireTimeoutError);
    if (timeout !== undefined && timeoutMs > 0) {
      this.#quorum.report('timeout', { ...event, waitedMs: timeout.waitedMs });
    }
    const closed = errors.find((error) => error instanceof ProviderClosedError);
    return timeout ?? closed ?? this.#quorumError(errors);
  }

  async downgrade(to: 'upgradeable' | 'read'): Promise<void> {
    this.#throwUnlessIdle();
    const { majority } = this.#quorum;
    const hold = this.#hold;
    if (BY_STRENGTH.indexOf(to) >= BY_STRENGTH.indexOf(hold.mode)) {
      throw this.#illegal(`that cannot be downgraded to ${to}`);
    }
    this.#begin('a downgrade');
    try {
      const { seats } = hold;
      hold.weaken(to);
      const asked = seats.map(async (seat) => {
        await seat.downgrade(to);
        return seat;
      });
      const { values: followed, errors } = await enough(asked, majority);
      this.#throwIfOver();
      if (followed.length < majority) throw this.#quorumError(errors);
      const token = Math.max(hold.token, highestToken(followed));
      const { values: fenced, errors: unfenced } = await fence(followed, token, majority);
      this.#throwIfOver();
      if (fenced.length < majority) throw this.#quorumError(unfenced);
      hold.become(to, token);
      this.#throwIfOver();
    } finally {
      this.#settle();
    }
  }

  #begin(change: 'an upgrade' | 'a downgrade'): void {
    this.#inProgress = change;
    this.#hold.changing(true);
  }

  #settle(): void {
    this.#inProgress = undefined;
    this.#hold.changing(false);
  }

  #throwUnlessIdle(): void {
    this.#throwIfOver();
    if (this.#inProgress !== undefined) throw this.#illegal(`${this.#inProgress} is in progress`);
  }

  #throwIfOver(): void {
    const { ended, name } = this.#hold;
    if (ended !== undefined) throw new LockLostError(name, ended);
  }

  #illegal(detail: string): LockModeError {
    return new LockModeError(this.#hold.name, this.#hold.mode, detail);
  }

  #quorumError(errors: readonly unknown[]): QuorumError {
    return new QuorumError(this.#hold.name, this.#quorum.stores.length, errors);
  }
}

/** Whoever has been upgraded, or is after all. */
async function backToUpgradeable(upgraded: Promise<Seat>): Promise<void> {
  try {
    await (await upgraded).downgrade('upgradeable');
  } catch {
    // It had not been upgraded; or it goes on in the background, or is over.
  }
}
