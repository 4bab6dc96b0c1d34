import { ProviderClosedError, StoreUnavailableError, UnsupportedServerError } from '../errors.js';
import { LeaseholdError } from '../leasehold-error.js';
import { outcomeOfError } from '../store/outcome.js';
import type { StoreSeat, Store, SeatRequest } from './store.js';

/**
 * How the last try at a store ended.
 *
 * - `answering`: the store granted a seat, said that the lock was busy, or failed for a reason that concerns only this
 *   lock.
 * - `refusing`: the store refused, and would refuse for other locks, too. A refusal comes at once and grants nothing,
 *   so every request may ask such a store. But the store is never the gate, and does not count as free.
 * - `silent`: the store did not answer, it returned an error that a later try may not meet (such as no primary), or
 *   the driver refused the command.
 */
type Condition = 'answering' | 'refusing' | 'silent';

/**
 * The condition of each store. If the lock is busy in another store, a round waits only briefly for a silent store
 * (`QuorumRounds`).
 *
 * A try without an answer may have been granted. The release of its seat is then repeated in the background until the
 * store answers or the lease has expired. To keep such releases few, only one request at a time probes a silent store.
 * The other requests wait for the result of this probe.
 *
 * A try goes on after its request or its hold has ended. If the try ended with its request, this provider would never
 * learn whether a store is silent or only slow.
 */
export class StoreHealth {
  readonly #conditions = new Map<Store, Condition>();
  readonly #answered = new Set<Store>();
  readonly #probes = new Map<Store, Promise<unknown>>();

  isSilent(store: Store): boolean {
    return this.#conditions.get(store) === 'silent';
  }

  /**
   * Whether the last try found the store `answering`, so that the next try may be granted. Also true before the first
   * try.
   */
  mayGrant(store: Store): boolean {
    return (this.#conditions.get(store) ?? 'answering') === 'answering';
  }

  /** Whether this store has ever answered a try of this provider, even by a refusal, or has answered an `inspect`. */
  hasAnswered(store: Store): boolean {
    return this.#answered.has(store);
  }

  /** Called when an `inspect` of the store has succeeded. */
  recordAnswer(store: Store): void {
    this.#answered.add(store);
  }

  /**
   * Waits for the end of a probe that is going on, and then sends one try to the store. If the store is still silent
   * after the probe, sends nothing and rejects with the trouble of the probe. A seat that is granted after its request
   * or hold has ended is still the result of this call, and the caller has to release it.
   *
   * @param throwIfOver - Called after the probe. If it throws, nothing is sent.
   */
  async try(store: Store, request: SeatRequest, throwIfOver: () => void): Promise<StoreSeat> {
    for (let probe = this.#probes.get(store); probe !== undefined; probe = this.#probes.get(store)) {
      const trouble = await probe;
      throwIfOver();
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
      // Neither a `ProviderClosedError` nor an error that is not the library's own says anything about the store.
      if (!(error instanceof LeaseholdError) || error instanceof ProviderClosedError) throw error;
      if (isAnswer(error)) this.#answered.add(store);
      this.#conditions.set(store, conditionAfter(error));
      throw error;
    }
  }
}

/**
 * A member of a replica set that knows no primary returns an error, although a later try may succeed. For the next
 * request, this error is no better than no answer, so the store counts as silent.
 */
function conditionAfter(error: LeaseholdError): Condition {
  if (error instanceof UnsupportedServerError) return 'refusing';
  if (!(error instanceof StoreUnavailableError)) return 'answering';
  const outcome = outcomeOfError(error.cause);
  return outcome.type === 'refused' && outcome.byServer ? 'refusing' : 'silent';
}

/** The driver's names for errors that a server returned. */
const SERVER_ERRORS: ReadonlySet<string> = new Set(['MongoServerError', 'MongoWriteConcernError']);

/**
 * A `StoreUnavailableError` shows that the store has answered only if its cause is an error of the server. If the
 * provider is open, every other error of a try comes from an answer.
 */
const isAnswer = (error: LeaseholdError): boolean =>
  !(error instanceof StoreUnavailableError) ||
  (error.cause instanceof Error && SERVER_ERRORS.has(error.cause.name));

const causeOf = (error: unknown): unknown =>
  error instanceof StoreUnavailableError ? (error.cause ?? error) : error;
