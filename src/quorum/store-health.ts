import { AcquireTimeoutError, LeaseholdError, StoreUnavailableError } from '../errors.js';
import type { Seat, Store, SeatRequest } from './store.js';

/**
 * Which stores are silent: the last time, they did not answer or they refused. No request waits for a silent store
 * while others answer.
 *
 * A try without an answer may have been granted, and the release of such a seat goes on until its lease has expired. So
 * only one request at a time probes a silent store, and the other requests wait for the result of the probe.
 *
 * A try is never cut short. Otherwise nothing would be heard of a store that takes longer to answer than holds last: it
 * would be found neither silent nor back.
 */
export class StoreHealth {
  readonly #silent = new Set<Store>();
  readonly #answered = new Set<Store>();
  readonly #probes = new Map<Store, Promise<unknown>>();

  isSilent(store: Store): boolean {
    return this.#silent.has(store);
  }

  /** Whether this store has ever answered this provider; a refusal counts. */
  hasAnswered(store: Store): boolean {
    return this.#answered.has(store);
  }

  /** Records an answer to something else than a try. */
  recordAnswer(store: Store): void {
    this.#answered.add(store);
  }

  /**
   * The `try` of the store. Sends nothing once the signal has aborted. A seat that is granted after the abort is
   * returned all the same, and the caller has to release it.
   */
  async try(store: Store, request: SeatRequest, signal: AbortSignal): Promise<Seat> {
    for (let probe = this.#probes.get(store); probe !== undefined; probe = this.#probes.get(store)) {
      const trouble = await probe;
      signal.throwIfAborted();
      if (trouble !== undefined) throw new StoreUnavailableError(request.name, true, trouble);
    }
    const isProbe = this.#silent.has(store);
    const asked = this.#ask(store, request);
    if (isProbe) {
      const probe = asked
        .then(
          () => undefined,
          (error: unknown) => (this.#silent.has(store) ? causeOf(error) : undefined),
        )
        .finally(() => this.#probes.delete(store));
      this.#probes.set(store, probe);
    }
    return await asked;
  }

  async #ask(store: Store, request: SeatRequest): Promise<Seat> {
    try {
      const seat = await store.try(request);
      this.#silent.delete(store);
      this.#answered.add(store);
      return seat;
    } catch (error) {
      if (isAnswer(error)) this.#answered.add(store);
      if (error instanceof StoreUnavailableError) this.#silent.add(store);
      else if (error instanceof AcquireTimeoutError) this.#silent.delete(store);
      throw error;
    }
  }
}

/**
 * A `StoreUnavailableError` is an answer only if the server itself refused; every other error of this library is one.
 */
function isAnswer(error: unknown): boolean {
  if (!(error instanceof StoreUnavailableError)) return error instanceof LeaseholdError;
  return error.cause instanceof Error && error.cause.name === 'MongoServerError';
}

const causeOf = (error: unknown): unknown =>
  error instanceof StoreUnavailableError ? (error.cause ?? error) : error;
