import type { ParsedElectionOptions, WhyDeposed } from './election-options.js';
import type { TermHandle } from './term-handle.js';

/** Work of every term beside `onElected`, under a name of its own. */
export interface Worker {
  readonly name: string;
  /** Resolves when the work of this term has ended, for which its signal is the sign. Never rejects. */
  lead(term: TermHandle): Promise<unknown>;
}

/**
 * The callbacks of one candidate. The work of a term goes on together, `onElected` and that of the workers; its
 * `onDeposed` comes when all of it has ended. Nothing of the lease waits for them. What they throw is told as an error.
 */
export class Callbacks {
  readonly #options: Pick<ParsedElectionOptions, 'onElected' | 'onDeposed'>;
  readonly #onError: (error: unknown) => void;
  readonly #workers = new Set<Worker>();
  /** What goes on: the work of the present term, or of the last one. */
  readonly #works = new Set<Promise<void>>();
  /** What goes on under the name of a worker, also of one that is not attached any more. */
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
   * From now on it works in every term, also in the present one. Returns what ends that; work that goes on ends by itself.
   *
   * @throws `TypeError` if there is one of this name.
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
   * Nobody is elected while anything goes on: so the two callbacks alternate.
   *
   * @param onFailure - Called when `onElected` has failed, after the error has been told.
   */
  elected(term: TermHandle, onFailure: () => void): void {
    // A worker that is attached from now on, for instance by what `onElected` does, begins by itself.
    const workers = [...this.#workers];
    this.#term = term;
    void this.#begin(
      () => this.#options.onElected(term),
      (error) => {
        // To end by throwing the reason of its signal is no failure.
        if (term.signal.aborted && error === term.signal.reason) return;
        this.#onError(error);
        onFailure();
      },
    );
    for (const worker of workers) void this.#begin(() => this.#lead(worker, term));
  }

  /**
   * Calls `onDeposed` when the work of the term has ended, and then `vacate`, which does not wait for the end of that and
   * never rejects. If nothing goes on, both are called before this returns. Resolves with what `vacate` does.
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

  /** Resolves when what goes on now has ended, with all that belongs to its end. */
  async ended(): Promise<void> {
    await Promise.all(this.#works);
  }

  /** Resolves when nothing goes on any more. */
  async idle(): Promise<true> {
    while (!this.isIdle) await Promise.all(this.#works);
    return true;
  }

  /** One after the other under one name: a run may outlive its worker, whose name another one has then. */
  async #lead(worker: Worker, term: TermHandle): Promise<void> {
    const { name } = worker;
    for (let last = this.#going.get(name); last !== undefined; last = this.#going.get(name)) await last;
    if (!this.#workers.has(worker)) return;
    const work = worker.lead(term).finally(() => this.#going.delete(name));
    this.#going.set(name, work);
    await work;
  }

  /** Work that ends at once is over when this returns. */
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

/** Also one of another library, which may begin only when it is asked for its result. */
const isPromise = (result: unknown): result is PromiseLike<unknown> =>
  typeof (result as Partial<PromiseLike<unknown>> | null | undefined)?.then === 'function';
