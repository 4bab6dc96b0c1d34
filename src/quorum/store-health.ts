import { StoreUnavailableError, UnsupportedServerError } from '../errors.js';
import { LeaseholdError } from '../leasehold-error.js';
import { outcomeOfError } from '../store/outcome.js';
import type { StoreSeat, Store, SeatRequest } from './store.js';

/**
 * How the last try at a store ended.
 *
 * - `answering`: it granted, was busy, or had something against this one lock.
 * - `refusing`: it refused in a way that other locks would meet as well. A refusal comes at once and grants nothing, so
 *   every request may ask such a store. But the store cannot be a gate, and it does not count as free.
 * - `silent`: it did not answer.
 */
type Condition = 'answering' | 'refusing' | 'silent';

/**
 * The condition of each store. No request waits for a silent store while others answer.
 *
 * A try without an answer may have been granted, and the release of such a seat goes on until its lease has expired. So
 * only one request at a time probes a silent store, and the other requests wait for the result of the probe.
 *
 * A try is never cut short. Otherwise nothing would be heard of a store that takes longer to answer than holds last: it
 * would be found neither silent nor back.
 */
export class StoreHealth {
  readonly #conditions = new Map<Store, Condition>();
  readonly #answered = new Set<Store>();
  readonly #probes = new Map<Store, Promise<unknown>>();

  isSilent(store: Store): boolean {
    return this.#conditions.get(store) === 'silent';
  }

  /** Whether a try may be granted, as far as the last one shows. */
  mayGrant(store: Store): boolean {
    return (this.#conditions.get(store) ?? 'answering') === 'answering';
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
  async try(store: Store, request: SeatRequest, signal: AbortSignal): Promise<StoreSeat> {
    for (let probe = this.#probes.get(store); probe !== undefined; probe = this.#probes.get(store)) {
      const trouble = await probe;
      signal.throwIfAborted();
      if (trouble !== undefined) throw new StoreUnavailableError(request.name, true, trouble);
    }
    const isProbe = this.isSilent(store);
    const asked = this.#ask(store, request);
    if (isProbe) {
      const probe = asked
        .then(
          () => undefined,
          (error: unknown) => (this.isSilent(store) ? causeOf(error) : undefined),
        )
        .finally(() => this.#probes.delete(store));
      this.#probes.set(store, probe);
    }
    return await asked;
  }

  async #ask(store: Store, request: SeatRequest): Promise<StoreSeat> {
    try {
      const seat = await store.try(request);
      this.#conditions.set(store, 'answering');
      this.#answered.add(store);
      return seat;
    } catch (error) {
      if (isAnswer(error)) this.#answered.add(store);
      if (error instanceof LeaseholdError) this.#conditions.set(store, conditionAfter(error));
      throw error;
    }
  }
}

/**
 * A server without a primary also answers by an error, but the request is repeated until its time is up. For the next
 * request this is no better than no answer.
 */
function conditionAfter(error: LeaseholdError): Condition {
  if (error instanceof UnsupportedServerError) return 'refusing';
  if (!(error instanceof StoreUnavailableError)) return 'answering';
  const outcome = outcomeOfError(error.cause);
  return outcome.type === 'refused' && outcome.byServer ? 'refusing' : 'silent';
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
