import type { Operation } from '../../protocol/operation.js';
import type { Reply } from '../../protocol/replies/reply.js';

type Seen =
  | { readonly type: 'vacant' }
  /** Only the attempt `id` seemed to use the lock. `wasFast`: the attempt got the lock by a fast path. */
  | { readonly type: 'alone'; readonly id: string; readonly sinceMs: number; readonly wasFast: boolean }
  /** Others used the lock, or its state is not known. */
  | { readonly type: 'contended' };

/**
 * What this process last saw of a lock, if that makes the fast path worth trying.
 *
 * - `vacant`: the lock had neither a lease nor a waiter.
 * - `new`: nothing is known of the lock.
 * - `alone`: a moment ago, the lock had only the lease of the attempt that leaves now.
 * - `long alone`: as `alone`, but longer ago, so other processes may wait by now. The fast path of the leave is then
 *   tried only in a group, and only if the attempt got the lock by a fast path.
 */
export type Guess = 'vacant' | 'new' | 'alone' | 'long alone';

/** How many locks are remembered. A forgotten lock counts as new. */
const MAX_REMEMBERED = 4_096;

/**
 * For how long this process assumes, after a grant that found no other lease and no waiter, that nobody else waits for
 * the lock, in ms. A wrong guess makes others wait a round trip longer.
 */
const ALONE_FOR_MS = 5;

/**
 * Guesses which locks no other process uses at this moment. For them the fast path is worth trying.
 *
 * An unknown lock is most likely free: programs lock an invoice, an order or a user once. A fast path that does not
 * apply changes nothing and costs one more round trip. To keep wrong guesses rare, each observation of a lock serves
 * for one guess only. A contended lock stays contended until a reply shows that a request was granted and that the
 * lock has no other lease and no waiter, or until the lock is forgotten.
 */
export class UncontendedHint {
  readonly #seen = new Map<string, Seen>();

  /**
   * Returns `undefined` if the fast path of this operation is not worth trying. This method uses up the last
   * observation of the lock, unless the lock was contended.
   *
   * @param nowMs - When the operation was submitted.
   */
  take(
    name: string,
    { type, id }: { readonly type: Operation['type']; readonly id?: string | undefined },
    nowMs: number,
  ): Guess | undefined {
    const isRequest = type === 'enqueue' || type === 'try';
    const seen = this.#seen.get(name);
    if (seen?.type === 'contended') return undefined;
    this.#seen.delete(name);
    if (seen === undefined) return isRequest ? 'new' : undefined;
    if (seen.type === 'vacant') return isRequest ? 'vacant' : undefined;
    if (type !== 'leave' || id !== seen.id) return undefined;
    if (nowMs < seen.sinceMs + ALONE_FOR_MS) return 'alone';
    return seen.wasFast ? 'long alone' : undefined;
  }

  applied(name: string, operation: Operation, nowMs: number): void {
    if ('request' in operation) {
      this.#alone(name, operation.request.id, nowMs, true);
    } else this.#remember(name, { type: 'vacant' });
  }

  learn(
    name: string,
    [operation, ...others]: readonly Operation[],
    reply: Reply | null,
    nowMs: number,
  ): void {
    if (reply === null || operation === undefined) return;
    const [lease] = reply.leases;
    const isAlone =
      reply.isWellFormed &&
      others.length === 0 &&
      reply.leaseCount === 1 &&
      reply.waiters === 0 &&
      'request' in operation;
    if (isAlone && lease?.id === operation.request.id) {
      this.#alone(name, lease.id, nowMs, false);
    } else this.contended(name);
  }

  /** Called when others use the lock, or when its state is not known. */
  contended(name: string): void {
    this.#remember(name, { type: 'contended' });
  }

  #alone(name: string, id: string, sinceMs: number, wasFast: boolean): void {
    this.#remember(name, { type: 'alone', id, sinceMs, wasFast });
  }

  #remember(name: string, seen: Seen): void {
    // A map keeps the order of insertion. So the first name is the one with the oldest observation, and is forgotten.
    this.#seen.delete(name);
    this.#seen.set(name, seen);
    if (this.#seen.size <= MAX_REMEMBERED) return;
    const [oldest = name] = this.#seen.keys();
    this.#seen.delete(oldest);
  }
}
