import type { Operation } from '../../protocol/operation.js';
import type { Reply } from '../../protocol/replies/reply.js';

/** What was last seen of a lock that nobody but this process seemed to use. */
type Seen =
  { readonly type: 'vacant' } | { readonly type: 'alone'; readonly id: string; readonly sinceMs: number };

/** So many locks are remembered; of one that is forgotten, the next transition is sent as it is. */
const MAX_REMEMBERED = 4_096;

/** For so long a hold that began without company is expected to have none. Of a longer one, the release hardly counts. */
const ALONE_FOR_MS = 5;

/**
 * Which locks nobody else is likely to use at this moment, so that the fast path of a transition is worth trying.
 *
 * Only a guess: a fast path that does not apply changes nothing, and costs one more round trip. So it is made where a
 * wrong one costs little: not for a hold that has lasted a while, for whose end somebody may wait by now, and never twice
 * on the same grounds.
 */
export class UncontendedHint {
  readonly #seen = new Map<string, Seen>();

  /** Whether to try the fast path of this operation. What it rests on is used up. */
  expect(name: string, operation: Operation, nowMs: number): boolean {
    const seen = this.#seen.get(name);
    this.#seen.delete(name);
    if (seen === undefined) return false;
    if (seen.type === 'vacant') return 'request' in operation;
    return operation.type === 'leave' && operation.id === seen.id && nowMs < seen.sinceMs + ALONE_FOR_MS;
  }

  /** The fast path applied. */
  applied(name: string, operation: Operation, nowMs: number): void {
    if ('request' in operation)
      this.#remember(name, { type: 'alone', id: operation.request.id, sinceMs: nowMs });
    else this.#remember(name, { type: 'vacant' });
  }

  /** A transition of these operations left this behind. */
  learn(
    name: string,
    [operation, ...others]: readonly Operation[],
    reply: Reply | null,
    nowMs: number,
  ): void {
    if (reply === null || operation === undefined || others.length > 0 || !('request' in operation)) return;
    const [lease] = reply.leases;
    const isAlone =
      reply.sound && reply.seated === 1 && reply.waiters === 0 && lease?.id === operation.request.id;
    if (isAlone) this.#remember(name, { type: 'alone', id: lease.id, sinceMs: nowMs });
  }

  #remember(name: string, seen: Seen): void {
    this.#seen.set(name, seen);
    if (this.#seen.size <= MAX_REMEMBERED) return;
    const [oldest = name] = this.#seen.keys();
    this.#seen.delete(oldest);
  }
}
