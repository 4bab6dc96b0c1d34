import type { Clock } from '../clock.js';
import type { LockHandle } from '../lease/holding/lock-handle.js';
import type { ParsedWait } from '../options/request-options.js';
import { Scope } from '../scope.js';

/**
 * The calls of `untilElected` that wait for a candidate to be elected. The candidate may not even have been started.
 */
export class ElectionWaiters {
  readonly #name: string;
  readonly #clock: Clock;
  readonly #closing: AbortSignal;
  readonly #waiting = new Set<{
    readonly elected: (term: LockHandle) => void;
    readonly reject: (error: unknown) => void;
  }>();

  constructor(name: string, clock: Clock, closing: AbortSignal) {
    this.#name = name;
    this.#clock = clock;
    this.#closing = closing;
  }

  /**
   * Resolves with the next term; rejects when the time is up or the signal aborts first. When the time is up, `tooLate`
   * takes a moment to find out which candidate leads. A term that begins in this moment is still returned.
   */
  async wait(
    { timeoutMs, signal }: ParsedWait,
    tooLate: (waitedMs: number) => Promise<Error>,
  ): Promise<LockHandle> {
    const startedMs = this.#clock.nowMs();
    const scope = new Scope(this.#name, this.#clock, this.#closing, { signal, startedMs, timeoutMs });
    scope.throwIfOver();
    let end!: () => void;
    const elected = new Promise<LockHandle>((resolve, reject) => {
      const waiting = { elected: resolve, reject };
      const close = scope.open({
        aborted: (errorOf) => {
          waiting.reject(errorOf());
        },
        timeUp: () => {
          void tooLate(this.#clock.nowMs() - startedMs).then(reject);
        },
      });
      this.#waiting.add(waiting);
      end = () => {
        close();
        this.#waiting.delete(waiting);
      };
    });
    try {
      return await elected;
    } finally {
      end();
    }
  }

  elected(term: LockHandle): void {
    for (const { elected } of this.#waiting) elected(term);
  }

  fail(error: unknown): void {
    for (const { reject } of this.#waiting) reject(error);
  }
}
