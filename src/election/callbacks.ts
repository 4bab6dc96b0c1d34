import type { LockHandle } from '../lease/lock-handle.js';
import type { ParsedElectionOptions, WhyDeposed } from './election-options.js';

/**
 * The callbacks of one candidate: one after the other in the order of the terms, so that they alternate. Nothing of the
 * lease waits for them. What they throw is told as an error.
 */
export class Callbacks {
  readonly #options: Pick<ParsedElectionOptions, 'onElected' | 'onDeposed'>;
  readonly #onError: (error: unknown) => void;
  readonly #due: (() => void | Promise<void>)[] = [];
  #isRunning = false;
  readonly #onIdle: (() => void)[] = [];

  constructor(
    options: Pick<ParsedElectionOptions, 'onElected' | 'onDeposed'>,
    onError: (error: unknown) => void,
  ) {
    this.#options = options;
    this.#onError = onError;
  }

  get isIdle(): boolean {
    return !this.#isRunning;
  }

  elected(term: LockHandle): void {
    this.#add(() => this.#options.onElected(term));
  }

  /** If nothing is running, it is called before this returns. */
  deposed(term: LockHandle, why: WhyDeposed): void {
    this.#add(() => this.#options.onDeposed(term, why));
  }

  /** Resolves when nothing is running any more. */
  async idle(): Promise<true> {
    if (this.#isRunning) await new Promise<void>((resolve) => this.#onIdle.push(resolve));
    return true;
  }

  #add(callback: () => void | Promise<void>): void {
    this.#due.push(callback);
    if (!this.#isRunning) void this.#run();
  }

  /** Up to the first callback that takes time, it runs at once. */
  async #run(): Promise<void> {
    this.#isRunning = true;
    for (let next = this.#due.shift(); next !== undefined; next = this.#due.shift()) {
      try {
        const result = next();
        if (result instanceof Promise) await result;
      } catch (error) {
        this.#onError(error);
      }
    }
    this.#isRunning = false;
    for (const resolve of this.#onIdle.splice(0)) resolve();
  }
}
