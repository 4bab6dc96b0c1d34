import type { Operation } from '../../protocol/operation.js';
import type { Reply } from '../../protocol/replies/reply.js';

/** The last state of a lock that only this process seemed to use. */
type Seen =
  { readonly type: 'vacant' } | { readonly type: 'alone'; readonly id: string; readonly sinceMs: number };

/** The number of locks that are remembered. The next transition of a lock that was forgotten is sent in full. */
const MAX_REMEMBERED = 4_096;

/**
 * The time for which an uncontended hold is assumed to be still uncontended, in ms. For a longer hold, the cost of the
 * release hardly matters.
 */
const ALONE_FOR_MS = 5;

/**
 * Guesses which locks no other process uses at this moment, so that it is worth trying the fast path.
 *
 * A fast path that does not apply changes nothing and costs one more round trip. So the guess is made only where a
 * wrong one costs little: not for a hold that has lasted a while, because others may wait for its end by now, and each
 * observation of the lock is used for one guess only.
 */
export class UncontendedHint {
  readonly #seen = new Map<string, Seen>();

  /** Whether to try the fast path of this operation. Uses up the last observation of the lock. */
  expect(name: string, operation: Operation, nowMs: number): boolean {
    const seen = this.#seen.get(name);
    this.#seen.delete(name);
    if (seen === undefined) return false;
    if (seen.type === 'vacant') return 'request' in operation;
    return operation.type === 'leave' && operation.id === seen.id && nowMs < seen.sinceMs + ALONE_FOR_MS;
  }

  /** The fast path of this operation was applied. */
  applied(name: string, operation: Operation, nowMs: number): void {
    if ('request' in operation)
      this.#remember(name, { type: 'alone', id: operation.request.id, sinceMs: nowMs });
    else this.#remember(name, { type: 'vacant' });
  }

  /** Learns from the reply to a full transition of these operations. */
  learn(
    name: string,
    [operation, ...others]: readonly Operation[],
    reply: Reply | null,
    nowMs: number,
  ): void {
    if (reply === null || operation === undefined || others.length > 0 || !('request' in operation)) return;
    const [lease] = reply.leases;
    const isAlone =
      reply.isWellFormed && reply.seated === 1 && reply.waiters === 0 && lease?.id === operation.request.id;
    if (isAlone) this.#remember(name, { type: 'alone', id: lease.id, sinceMs: nowMs });
  }

  #remember(name: string, seen: Seen): void {
    this.#seen.set(name, seen);
    if (this.#seen.size <= MAX_REMEMBERED) return;
    const [oldest = name] = this.#seen.keys();
    this.#seen.delete(oldest);
  }
}
