import {
  COMMON_SHAPE,
  FENCE_IN_RANGE,
  NOW,
  all,
  any,
  equal,
  filter,
  hasType,
  match,
  not,
  typeOf,
} from '../expressions.js';
import type { Expression, Fields } from '../expressions.js';
import { MAX_KEEPS, MAX_LEASE_MS, MIN_LEASE_MS } from '../lock-document.js';
import type { Operation } from '../operation.js';
import type { Reply } from '../replies/reply.js';
import type { SeatRules, StoredFields } from '../seats.js';

/**
 * Whether the stored document is well-formed for this kind of lock. It never fails, whatever is stored. A document that
 * is well-formed for no kind is corrupt.
 */
export const isWellFormed = (
  seats: SeatRules,
  waiters: Expression = { $objectToArray: '$queue' },
): Expression =>
  all(
    match([['$kind', seats.kind], ...COMMON_SHAPE]),
    ...FENCE_IN_RANGE,
    seats.wellFormed,
    equal(filter(waiters, not(all(...isWaiter(seats)))), []),
  );

/** The projection that shows whether a document is well-formed for one of these kinds. */
export const wellFormedProjection = (...kinds: readonly SeatRules[]): Fields => ({
  isWellFormed: any(...kinds.map((seats) => isWellFormed(seats))),
});

/**
 * Conditions on the fields of a waiter that transitions compute with. A missing field has the type `missing`, so a
 * waiter without the field does not meet them.
 */
const IS_WAITER: readonly Expression[] = [
  match([
    [typeOf('$$this.v.process'), 'string'],
    [typeOf('$$this.v.expiresAt'), 'date'],
    [typeOf('$$this.v.leaseMs'), 'int'],
  ]),
  { $gte: ['$$this.v.leaseMs', MIN_LEASE_MS] },
  { $lte: ['$$this.v.leaseMs', MAX_LEASE_MS] },
];

const isWaiter = (seats: SeatRules): readonly Expression[] => [
  ...IS_WAITER,
  ...(seats.keeping === 'passed' ? [KEEPS_IN_RANGE] : []),
  ...seats.isWaiter,
];

/** Tokens are computed with `keeps`, so it must be a number in range. */
const KEEPS_IN_RANGE: Expression = any(
  hasType('$$this.v.keeps', 'missing'),
  all(
    hasType('$$this.v.keeps', 'int'),
    { $gte: ['$$this.v.keeps', 0] },
    { $lte: ['$$this.v.keeps', MAX_KEEPS] },
  ),
);

/**
 * The projection of the verdict: whether the document of a reply is well-formed. Only the server can tell: it sees
 * fields that a reply does not show, and types that the driver does not keep apart. The process uses nothing of a reply
 * from a corrupt document, and the request fails.
 *
 * An operation with a nonce needs no verdict: an update leaves a corrupt document untouched, so the nonce in `wake`
 * proves that the document was well-formed.
 */
export function verdictProjection(seats: SeatRules, operations: readonly Operation[]): Fields {
  if (nonceOf(seats, operations) !== undefined) return {};
  const isOfAnotherKind = not(equal('$kind', seats.kind));
  return { isWellFormed: any(isOfAnotherKind, ...justQueued(operations), isWellFormed(seats)) };
}

/** The reply, with the server's verdict on its document. A document of another kind is not judged. */
export function judged(
  seats: SeatRules,
  operations: readonly Operation[],
  reply: Reply,
  { kind, isWellFormed: verdict }: StoredFields,
): Reply {
  const nonce = nonceOf(seats, operations);
  const isProven = nonce === undefined ? verdict === true : shows(reply.wake, nonce);
  return isProven || kind !== seats.kind ? reply : { ...reply, isWellFormed: false };
}

/**
 * A nonce that a well-formed document shows after these operations. An operation of another kind of lock leaves no
 * nonce.
 */
function nonceOf(seats: SeatRules, operations: readonly Operation[]): string | undefined {
  for (const operation of operations) {
    if (!('nonce' in operation)) continue;
    const isOfAnyKind = operation.type === 'extend' || operation.type === 'raiseFence';
    if (isOfAnyKind || seats.own(operation).length > 0) return operation.nonce;
  }
  return undefined;
}

/** Whether there is a word with this nonce: of a look, a raised fence, a claim, a call or the end of a run. */
const shows = (wake: readonly string[], nonce: string): boolean =>
  wake.some((word) => word === `~${nonce}` || word.startsWith(`+${nonce}:`));

/**
 * The condition that this very update has queued the first request. An update queues a request only in a well-formed
 * document, so this condition saves the check of every waiter of a long queue.
 */
function justQueued(operations: readonly Operation[]): readonly Expression[] {
  const [first] = operations.flatMap((operation) => ('request' in operation ? [operation.request.id] : []));
  // Only an id of the form that this library draws can be part of a path (E25).
  return first !== undefined && /^w[0-9a-f]+$/.test(first) ? [equal(`$queue.${first}.since`, NOW)] : [];
}
