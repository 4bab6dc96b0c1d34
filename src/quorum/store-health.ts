import { AcquireTimeoutError, LeaseholdError, StoreUnavailableError } from '../errors.js';
import type { Seat, Store, SeatRequest } from './store.js';

/**
 * Which stores did not answer the last time: nobody waits for them while others answer.
 *
 * A try that is not answered leaves behind what may have been granted, and giving that back takes until its lease has
 * ended. So one request at a time probes a silent store; the others wait for what comes of it. A try is never cut short,
 * or a store that answers more slowly than holds last would not be heard of at all, neither as silent nor as back.
 */
export class StoreHealth {
  readonly #silent = new Set<Store>();
  readonly #heard = new Set<Store>();
  readonly #probes = new Map<Store, Promise<unknown>>();

  isSilent(store: Store): boolean {
    return this.#silent.has(store);
  }

  /** Whether it has ever answered this provider, be it by a refusal. */
  hasAnswered(store: Store): boolean {
    return this.#heard.has(store);
  }

  /** It has answered something else than a try. */
  heard(store: Store): void {
    this.#heard.add(store);
  }

  /** As the store's own `try`. Sends nothing once the signal has aborted; what is granted then is the caller's all the same. */
  async try(store: Store, wish: SeatRequest, signal: AbortSignal): Promise<Seat> {
    for (let probe = this.#probes.get(store); probe !== undefined; probe = this.#probes.get(store)) {
      const trouble = await probe;
      signal.throwIfAborted();
      if (trouble !== undefined) throw new StoreUnavailableError(wish.name, true, trouble);
    }
    const isProbe = this.#silent.has(store);
    const asked = this.#ask(store, wish);
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

  async #ask(store: Store, wish: SeatRequest): Promise<Seat> {
    try {
      const seat = await store.try(wish);
      this.#silent.delete(store);
      this.#heard.add(store);
      return seat;
    } catch (error) {
      if (isAnswer(error)) this.#heard.add(store);
      if (error instanceof StoreUnavailableError) this.#silent.add(store);
      else if (error instanceof AcquireTimeoutError) this.#silent.delete(store);
      throw error;
    }
  }
}

/** Every error of this library but a missing answer; and of those, what the server itself has refused. */
function isAnswer(error: unknown): boolean {
  if (!(error instanceof StoreUnavailableError)) return error instanceof LeaseholdError;
  return error.cause instanceof Error && error.cause.name === 'MongoServerError';
}

const causeOf = (error: unknown): unknown =>
  error instanceof StoreUnavailableError ? (error.cause ?? error) : error;
