import type { Operation, Request } from '../../protocol/operation.js';
import type { KindRules } from '../../protocol/kind-rules.js';

/** A request that is made only when it is sent, because its not-after counts from the sending. */
export interface UnsentRequest {
  readonly type: 'enqueue' | 'try';
  readonly id: string;
  /** Returns the same request at every call: a repeat keeps the not-after of the first sending. */
  make(): Request;
}

export interface QueuedOperation {
  readonly rules: KindRules;
  readonly operation: Operation | UnsentRequest;
  readonly takingOver: boolean;
}

/** The most operations in one update: each costs up to nine stages, and a pipeline has at most 1,000 stages. */
export const MAX_OPERATIONS = 100;

/**
 * An update that takes more than this share of its time bound is slow. If it had more than `FEW_OPERATIONS` operations,
 * smaller updates follow it.
 */
const SLOW_SHARE = 1 / 3;

/**
 * If an update with at most this many operations is slow, its size is not the reason. Splitting it would only add
 * updates.
 */
const FEW_OPERATIONS = 10;

/**
 * The operations on one lock that wait for its next updates.
 *
 * Requests keep their order: first come, first served begins here (L3). Most other operations go ahead of requests, so
 * that releases, and looks that keep places alive, do not wait behind thousands of requests. But no operation goes
 * ahead of a request of the same attempt: if a leave arrived before its enqueue, the enqueue would add a place that
 * nobody uses.
 */
export class Lane<T extends QueuedOperation> {
  readonly #urgent = new Set<T>();
  readonly #inOrder = new Set<T>();
  /** The number of operations in `#inOrder` that concern each attempt id. */
  readonly #idsInOrder = new Map<string, number>();
  #maxBatch = MAX_OPERATIONS;

  add(queued: T): void {
    const ids = idsOf(queued.operation);
    if (!keepsOrder(queued) && !ids.some((id) => this.#idsInOrder.has(id))) {
      this.#urgent.add(queued);
      return;
    }
    this.#inOrder.add(queued);
    for (const id of ids) this.#idsInOrder.set(id, (this.#idsInOrder.get(id) ?? 0) + 1);
  }

  withdraw(queued: T): boolean {
    return this.#urgent.delete(queued) || this.#removeInOrder(queued);
  }

  /**
   * Takes the operations of the next update, all for one kind of lock. The result is empty only if the lane is empty.
   */
  take(): readonly T[] {
    const taken: T[] = [];
    this.#takeFrom(this.#urgent, taken);
    // After a refused or slow update, updates are kept small. Then urgent operations are sent without the others: a
    // request that may have caused the trouble must not delay them.
    const isAlone = taken.length > 0 && this.#maxBatch < MAX_OPERATIONS;
    if (this.#urgent.size === 0 && !isAlone) this.#takeFrom(this.#inOrder, taken);
    return taken;
  }

  /**
   * Adapts the size of the next updates to the time that an update of `count` operations took: smaller updates follow
   * a slow one. Each operation iterates over the whole queue and all leases. With ten thousand waiters or leases, on a
   * busy server, a hundred operations could exceed the time bound of a call, again and again.
   *
   * @param share - The share of its time bound that the call took.
   */
  passed(count: number, share: number): void {
    if (share > SLOW_SHARE && count > FEW_OPERATIONS)
      this.#maxBatch = Math.max(Math.ceil(count / 2), FEW_OPERATIONS);
    else if (share <= SLOW_SHARE / 2 || this.#maxBatch < FEW_OPERATIONS) {
      this.#maxBatch = Math.min(2 * this.#maxBatch, MAX_OPERATIONS);
    }
  }

  /**
   * Called when the server has refused an update of all these operations and has changed nothing. The lane gives the
   * operations out again, in smaller updates.
   */
  refused(batch: readonly T[]): void {
    this.#maxBatch = Math.ceil(batch.length / 2);
    const behind = [...this.#urgent, ...this.#inOrder];
    this.#urgent.clear();
    this.#inOrder.clear();
    this.#idsInOrder.clear();
    for (const queued of [...batch, ...behind]) this.add(queued);
  }

  #removeInOrder(queued: T): boolean {
    if (!this.#inOrder.delete(queued)) return false;
    for (const id of idsOf(queued.operation)) {
      const others = (this.#idsInOrder.get(id) ?? 1) - 1;
      if (others === 0) this.#idsInOrder.delete(id);
      else this.#idsInOrder.set(id, others);
    }
    return true;
  }

  /**
   * Moves operations from the front of `from` to `taken`, as long as they may go together and the update is not full.
   */
  #takeFrom(from: ReadonlySet<T>, taken: T[]): void {
    for (const queued of from) {
      const [first = queued] = taken;
      const goTogether = queued.rules === first.rules && queued.takingOver === first.takingOver;
      if (!goTogether || taken.length >= this.#maxBatch) return;
      this.withdraw(queued);
      taken.push(queued);
    }
  }
}

/**
 * Whether the operation waits behind all earlier ones. Requests keep their order (L3). A resize must follow earlier
 * requests that set another limit, and a hand-over must follow the request of the candidate that it names.
 */
const keepsOrder = ({ operation: { type } }: QueuedOperation): boolean =>
  type === 'enqueue' || type === 'try' || type === 'resize' || type === 'handOver';

export function idsOf(operation: Operation | UnsentRequest): readonly string[] {
  if ('request' in operation) return [operation.request.id];
  if ('ids' in operation) return operation.ids;
  return 'id' in operation ? [operation.id] : [];
}
