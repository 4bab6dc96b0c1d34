import { NOW, any, equal, not } from '../expressions.js';
import type { Expression, Fields } from '../expressions.js';
import type { Operation } from '../operation.js';
import type { Reply } from '../replies/reply.js';
import type { Seats, StoredFields } from '../seats.js';
import { isWellFormed } from './transition.js';

/**
 * Whether the document of a reply is legal. Only the server can tell: it sees fields that a reply does not show, and
 * types that the driver does not keep apart. An unsound reply teaches nothing, and the request that it answers fails.
 *
 * An operation with a nonce needs no check of its own. An update leaves an illegal document untouched, so a nonce in
 * `wake` proves that the document was legal.
 */
export function verdictProjection(seats: Seats, operations: readonly Operation[]): Fields {
  if (nonceOf(seats, operations) !== undefined) return {};
  const isOfAnotherKind = not(equal('$kind', seats.kind));
  return { legal: any(isOfAnotherKind, ...justQueued(operations), isWellFormed(seats)) };
}

/** The reply; unsound, if the server did not find the document legal. The seats of another kind are not judged. */
export function judged(
  seats: Seats,
  operations: readonly Operation[],
  reply: Reply,
  { kind, legal }: StoredFields,
): Reply {
  const nonce = nonceOf(seats, operations);
  const isLegal = nonce === undefined ? legal === true : shows(reply.wake, nonce);
  return isLegal || kind !== seats.kind ? reply : { ...reply, sound: false };
}

/** The nonce that a legal document shows after these operations; an operation of another kind of lock leaves none. */
function nonceOf(seats: Seats, operations: readonly Operation[]): string | undefined {
  for (const operation of operations) {
    if (!('nonce' in operation)) continue;
    const isOfAnyKind = operation.type === 'extend' || operation.type === 'raiseFence';
    if (isOfAnyKind || seats.own(operation).length > 0) return operation.nonce;
  }
  return undefined;
}

/** The word of a look, or that of a claim. */
const shows = (wake: readonly string[], nonce: string): boolean =>
  wake.some((word) => word === `~${nonce}` || word.startsWith(`+${nonce}:`));

/** A request that this very update has queued proves the same, and spares a look at every waiter of a long queue. */
function justQueued(operations: readonly Operation[]): readonly Expression[] {
  const [first] = operations.flatMap((operation) => ('request' in operation ? [operation.request.id] : []));
  // Only an id that we made can be part of a path.
  return first !== undefined && /^w[0-9a-f]+$/.test(first) ? [equal(`$queue.${first}.since`, NOW)] : [];
}
