import type { ParsedElectionOptions, WhyDeposed } from './election-options.js';
import type { TermHandle } from './term-handle.js';

/**
 * Work that runs in every term, beside `onElected`. Workers that are attached at the same time have different names.
 */
export interface Worker {
  readonly name: string;
  /**
   * Does the work of one term. The work has to end when the signal of the term aborts. Resolves when the work has
   * ended. Never rejects.
   */
  lead(term: TermHandle): Promise<unknown>;
}

/**
 * The callbacks of one candidate. `onElected` and the workers of a term run at the same time, and `onDeposed` is called
 * when all of them have ended. The lease is extended without waiting for any of this work.
 */
export class Callbacks {
  readonly #options: Pick<ParsedElectionOptions, 'onElected' | 'onDeposed'>;
  readonly #onError: (error: unknown) => void;
  readonly #workers = new Set<Worker>();
  /**
   * The promises of the running work. They belong to the present or the last term, and include `vacate` and
   * `onDeposed`.
   */
  readonly #works = new Set<Promise<void>>();
  /** The running work of each worker, by the worker's name. The worker may have been detached meanwhile. */
  readonly #going = new Map<string, Promise<unknown>>();
  #term: TermHandle | undefined;

  constructor(
    options: Pick<ParsedElectionOptions, 'onElected' | 'onDeposed'>,
    onError: (error: unknown) => void,
  ) {
    this.#options = options;
    this.#onError = onError;
  }

  get isIdle(): boolean {
    return this.#works.size === 0;
  }

  /**
   * Starts the worker in the present term, if there is one, and in every later term. Returns a function that detaches
   * the worker. Work that is running at the detachment continues until it ends.
   *
   * @throws `TypeError` if a worker of this name is attached already.
   */
  attach(worker: Worker): () => void {
    if ([...this.#workers].some(({ name }) => name === worker.name)) {
      throw new TypeError(`the election has a job named ${JSON.stringify(worker.name)} already`);
    }
    this.#workers.add(worker);
    const term = this.#term;
    if (term !== undefined) void this.#begin(() => this.#lead(worker, term));
    return () => {
      this.#workers.delete(worker);
    };
  }

  /**
   * Calls `onElected` and starts the workers. A candidate is not elected while work is running, so `onElected` and
   * `onDeposed` alternate.
   *
   * @param onFailure - Called when `onElected` has failed, after the error has been reported.
   */
  elected(term: TermHandle, onFailure: () => void): void {
    // A worker that is attached from now on, for example inside `onElected`, is started by `attach`.
    const workers = [...this.#workers];
    this.#term = term;
    void this.#begin(
      () => this.#options.onElected(term),
      (error) => {
        // It is no failure if the callback ends by throwing the reason of its signal.
        if (term.signal.aborted && error === term.signal.reason) return;
        this.#onError(error);
        onFailure();
      },
    );
    for (const worker of workers) void this.#begin(() => this.#lead(worker, term));
  }

  /**
   * Calls `onDeposed` when the work of the term has ended, and calls `vacate` right after that, without waiting for the
   * end of `onDeposed`. `vacate` must never reject. If no work is running, both functions are called before this method
   * returns.
   *
   * @returns Resolves with the result of `vacate`.
   */
  deposed<T>(term: TermHandle, why: WhyDeposed, vacate: () => Promise<T>): Promise<T> {
    this.#term = undefined;
    let deposed: Promise<unknown> | undefined;
    const end = (): Promise<T> => {
      deposed = this.#begin(() => this.#options.onDeposed(term, why));
      return vacate();
    };
    const vacated = this.isIdle ? end() : Promise.all(this.#works).then(end);
    void this.#begin(() => vacated.then(() => deposed));
    return vacated;
  }

  /**
   * Resolves when the work that is running now has ended. If `deposed` was called before, also waits for `vacate` and
   * `onDeposed` of that call.
   */
  async ended(): Promise<void> {
    await Promise.all(this.#works);
  }

  /** Unlike `ended`, also waits for work that begins meanwhile. */
  async idle(): Promise<true> {
    while (!this.isIdle) await Promise.all(this.#works);
    return true;
  }

  /**
   * Waits until no work under this name is running: a detached worker of the same name may still be at work. Then
   * starts the work, unless this worker was detached meanwhile.
   */
  async #lead(worker: Worker, term: TermHandle): Promise<void> {
    const { name } = worker;
    for (let last = this.#going.get(name); last !== undefined; last = this.#going.get(name)) await last;
    if (!this.#workers.has(worker)) return;
    const work = worker.lead(term).finally(() => this.#going.delete(name));
    this.#going.set(name, work);
    await work;
  }

  /**
   * Starts the work. Returns a promise that resolves when the work has ended. Returns `undefined` if the work is over
   * already: the function threw, or returned no promise.
   */
  #begin(work: () => unknown, onError = this.#onError): Promise<void> | undefined {
    try {
      const result = work();
      if (!isPromise(result)) return undefined;
      const going = Promise.resolve(result)
        .then(() => undefined, onError)
        .finally(() => this.#works.delete(going));
      this.#works.add(going);
      return going;
    } catch (error) {
      onError(error);
      return undefined;
    }
  }
}

/** Also true for a promise of another library. Such a promise may start its work only when `then` is called. */
const isPromise = (result: unknown): result is PromiseLike<unknown> =>
  typeof (result as Partial<PromiseLike<unknown>> | null | undefined)?.then === 'function';
