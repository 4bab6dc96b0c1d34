import { withCallerFrames } from '../caller-frames.js';
import type { Clock } from '../clock.js';
import type { LockHandle } from '../lease/holding/lock-handle.js';
import type { ParsedWait } from '../options/request-options.js';
import { Scope } from '../scope.js';

/** The wait has failed; `errorOf` makes its error. */
interface Failed {
  readonly errorOf: () => unknown;
}

/**
 * The calls of `untilElected` that wait until the candidate is elected. A call may begin while the candidate is
 * stopped.
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
   * Resolves with the next term. Rejects if the time is up, the signal aborts, the provider closes, or `fail` is
   * called. When the time is up, `tooLate` first reads which candidate leads, and then makes the error. If a term of
   * this candidate begins during that read, the call still resolves with the term.
   */
  async wait(
    { timeoutMs, signal }: ParsedWait,
    tooLate: (waitedMs: number) => Promise<Error>,
  ): Promise<LockHandle> {
    const startedMs = this.#clock.nowMs();
    const scope = new Scope(this.#name, this.#clock, this.#closing, { signal, startedMs, timeoutMs }, 0);
    scope.throwIfOver();
    let end!: () => void;
    const ended = new Promise<LockHandle | Failed>((resolve, reject) => {
      const waiting = { elected: resolve, reject };
      const close = scope.open({
        aborted: (errorOf) => {
          resolve({ errorOf });
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
      const ending = await ended;
      // The error is created in this function, which the caller awaits, so that its stack leads to the caller.
      if ('errorOf' in ending) throw withCallerFrames(ending.errorOf);
      return ending;
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
