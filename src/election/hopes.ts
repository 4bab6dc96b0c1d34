import type { Clock } from '../clock.js';
import type { LockHandle } from '../lease/lock-handle.js';
import type { ParsedWait } from '../options/request-options.js';

/** Whoever waits for a candidate to be elected. */
export class Hopes {
  readonly #clock: Clock;
  readonly #open = new Set<{
    readonly elected: (term: LockHandle) => void;
    readonly dashed: (error: unknown) => void;
  }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Resolves with the next term, unless the time is up or the signal aborts before. */
  async wait({ timeoutMs, signal }: ParsedWait, tooLate: (waitedMs: number) => Error): Promise<LockHandle> {
    const startedMs = this.#clock.nowMs();
    let end!: () => void;
    const hope = new Promise<LockHandle>((resolve, reject) => {
      const open = { elected: resolve, dashed: reject };
      const onAbort = (): void => {
        reject(signal?.reason as Error);
      };
      const onTime = (): void => {
        reject(tooLate(this.#clock.nowMs() - startedMs));
      };
      const timer = timeoutMs === Infinity ? undefined : this.#clock.at(startedMs + timeoutMs, onTime, true);
      this.#open.add(open);
      signal?.addEventListener('abort', onAbort, { once: true });
      end = () => {
        timer?.cancel();
        this.#open.delete(open);
        signal?.removeEventListener('abort', onAbort);
      };
    });
    try {
      return await hope;
    } finally {
      end();
    }
  }

  elected(term: LockHandle): void {
    for (const { elected } of this.#open) elected(term);
  }

  dashed(error: unknown): void {
    for (const { dashed } of this.#open) dashed(error);
  }
}
