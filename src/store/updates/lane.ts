import type { Operation, Request } from '../../protocol/operation.js';
import type { Seats } from '../../protocol/seats.js';

/** A request that is made when it is sent, because its not-after is counted from then. */
export interface UnsentRequest {
  readonly type: 'enqueue' | 'try';
  readonly id: string;
  /** The same at every call: a repeat keeps the not-after of the first sending. */
  make(): Request;
}

/** What is asked of one lock. */
export interface Asked {
  readonly seats: Seats;
  readonly operation: Operation | UnsentRequest;
  /** Take over an idle document of another kind first. */
  readonly takingOver: boolean;
}

/** More operations than this go into the next update: each costs up to six stages, and a pipeline has at most 1,000. */
export const MAX_OPERATIONS = 100;

/** Of the time that one call has, an update may take so much; behind a slower one come smaller ones. */
const SLOW = 1 / 3;

/** A slow update of so few operations is not slow because of them, and smaller ones would only be more. */
const FEW_OPERATIONS = 10;

/**
 * The operations on one lock that wait for its next updates.
 *
 * Requests keep their order: first come, first served begins here (L3). What ends or extends an attempt goes before
 * them, so that a release and the looks that keep places alive do not wait behind thousands of requests. It never goes
 * before a request of the same attempt: a leave that arrived before its enqueue would leave a place behind.
 */
export class Lane<T extends Asked> {
  readonly #prompt = new Set<T>();
  readonly #inTurn = new Set<T>();
  /** How many operations in `#inTurn` concern each attempt. */
  readonly #concerned = new Map<string, number>();
  #most = MAX_OPERATIONS;

  get isEmpty(): boolean {
    return this.#prompt.size === 0 && this.#inTurn.size === 0;
  }

  add(asked: T): void {
    const ids = idsOf(asked.operation);
    if (!keepsItsTurn(asked) && !ids.some((id) => this.#concerned.has(id))) {
      this.#prompt.add(asked);
      return;
    }
    this.#inTurn.add(asked);
    for (const id of ids) this.#concerned.set(id, (this.#concerned.get(id) ?? 0) + 1);
  }

  /** False: it is not here any more. */
  withdraw(asked: T): boolean {
    return this.#prompt.delete(asked) || this.#removeInTurn(asked);
  }

  /** The operations of the next update, all for one kind of lock; at least one, if there is any. */
  take(): readonly T[] {
    const taken: T[] = [];
    this.#takeFrom(this.#prompt, taken);
    // After a refusal, whatever may be the cause of it keeps nothing else waiting.
    const isAlone = taken.length > 0 && this.#most < MAX_OPERATIONS;
    if (this.#prompt.size === 0 && !isAlone) this.#takeFrom(this.#inTurn, taken);
    return taken;
  }

  /**
   * The server did not refuse an update of so many operations. Each of them goes through the whole queue and all leases:
   * with ten thousand of these, on a busy server, a hundred operations could take longer than one call may, and would be
   * sent again and again.
   *
   * @param share - Of the time that a call has: how much it took.
   */
  passed(count: number, share: number): void {
    if (share > SLOW && count > FEW_OPERATIONS) this.#most = Math.max(Math.ceil(count / 2), FEW_OPERATIONS);
    else if (share <= SLOW / 2 || this.#most < FEW_OPERATIONS) {
      this.#most = Math.min(2 * this.#most, MAX_OPERATIONS);
    }
  }

  /** The server refused an update of all of these, and nothing was changed: they are sent again in smaller ones. */
  refused(batch: readonly T[]): void {
    this.#most = Math.ceil(batch.length / 2);
    const behind = [...this.#prompt, ...this.#inTurn];
    this.#prompt.clear();
    this.#inTurn.clear();
    this.#concerned.clear();
    for (const asked of [...batch, ...behind]) this.add(asked);
  }

  #removeInTurn(asked: T): boolean {
    if (!this.#inTurn.delete(asked)) return false;
    for (const id of idsOf(asked.operation)) {
      const others = (this.#concerned.get(id) ?? 1) - 1;
      if (others === 0) this.#concerned.delete(id);
      else this.#concerned.set(id, others);
    }
    return true;
  }

  /** Moves operations from the front, as many as one update may have and as go together. */
  #takeFrom(from: ReadonlySet<T>, taken: T[]): void {
    for (const asked of from) {
      const [first = asked] = taken;
      const goTogether = asked.seats === first.seats && asked.takingOver === first.takingOver;
      if (!goTogether || taken.length >= this.#most) return;
      this.withdraw(asked);
      taken.push(asked);
    }
  }
}

/** A resize must follow the requests that set another limit before it, and a hand-over the request of its heir. */
const keepsItsTurn = ({ operation: { type } }: Asked): boolean =>
  type === 'enqueue' || type === 'try' || type === 'resize' || type === 'handOver';

/** The attempts that an operation concerns. */
export function idsOf(operation: Operation | UnsentRequest): readonly string[] {
  if ('request' in operation) return [operation.request.id];
  if ('ids' in operation) return operation.ids;
  return 'id' in operation ? [operation.id] : [];
}
