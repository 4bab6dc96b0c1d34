import { COMMON_SHAPE, FENCE_IN_RANGE, NOW, all, any, equal, match, not } from '../expressions.js';
import type { Expression, Fields } from '../expressions.js';
import type { Operation } from '../operation.js';
import type { Reply } from '../replies/reply.js';
import type { KindRules, StoredFields } from '../kind-rules.js';
import { areWaiters, withPlaces } from './places.js';

/**
 * Whether the stored document is well-formed for this kind of lock. Whatever is stored, this expression raises no
 * error. A document that is well-formed for no kind is corrupt.
 */
export const isWellFormed = (rules: KindRules): Expression =>
  all(...isWellFormedBeside(rules), withPlaces({ $objectToArray: '$queue' }, all(...areWaiters(rules))));

/** Like `isWellFormed`, but for the body of a `withPlaces`, whose variables the conditions on waiters use. */
export const isWellFormedWithPlaces = (rules: KindRules): Expression =>
  all(...isWellFormedBeside(rules), ...areWaiters(rules));

/**
 * All conditions except those on waiters. `isWellFormed` puts these first, because the conditions on waiters need
 * `$objectToArray`, which fails if the queue is no object.
 */
const isWellFormedBeside = (rules: KindRules): readonly Expression[] => [
  match([['$kind', rules.kind], ...COMMON_SHAPE]),
  ...FENCE_IN_RANGE,
  rules.wellFormed,
];

/** The projection that shows whether a document is well-formed for one of these kinds. */
export const wellFormedProjection = (...kinds: readonly KindRules[]): Fields => ({
  isWellFormed: any(...kinds.map((rules) => isWellFormed(rules))),
});

/**
 * The projection of the verdict: whether the document of a reply is well-formed. Only the server can tell: it sees
 * fields that a reply does not show, and types that the driver does not keep apart. If the document is corrupt, the
 * process uses no lease, no place and no limit of the reply, and the request fails.
 *
 * An operation with a nonce needs no verdict. An update leaves a corrupt document untouched, so the nonce in `wake`
 * proves that the document was well-formed.
 */
export function verdictProjection(rules: KindRules, operations: readonly Operation[]): Fields {
  if (nonceOf(rules, operations) !== undefined) return {};
  const isOfAnotherKind = not(equal('$kind', rules.kind));
  return { isWellFormed: any(isOfAnotherKind, ...justQueued(operations), isWellFormed(rules)) };
}

/** The reply with the server's verdict on its document. A document of another kind is not judged. */
export function judged(
  rules: KindRules,
  operations: readonly Operation[],
  reply: Reply,
  { kind, isWellFormed: verdict }: StoredFields,
): Reply {
  const nonce = nonceOf(rules, operations);
  const isProven = nonce === undefined ? verdict === true : shows(reply.wake, nonce);
  return isProven || kind !== rules.kind ? reply : { ...reply, isWellFormed: false };
}

/**
 * A nonce that these operations leave in a well-formed document. An operation that is foreign to this kind of lock
 * leaves none.
 */
function nonceOf(rules: KindRules, operations: readonly Operation[]): string | undefined {
  for (const operation of operations) {
    if (!('nonce' in operation)) continue;
    const isOfAnyKind = operation.type === 'extend' || operation.type === 'raiseFence';
    if (isOfAnyKind || rules.own(operation).length > 0) return operation.nonce;
  }
  return undefined;
}

const shows = (wake: readonly string[], nonce: string): boolean =>
  wake.some((word) => word === `~${nonce}` || word.startsWith(`+${nonce}:`));

/**
 * The condition that this very update has queued the first request. An update queues a request only in a document that
 * is well-formed or new. So this condition saves the check of every waiter of a long queue.
 */
function justQueued(operations: readonly Operation[]): readonly Expression[] {
  const [first] = operations.flatMap((operation) => ('request' in operation ? [operation.request.id] : []));
  // Only an id of this library's own form may be part of a field path. The server could misread any other id (E25).
  return first !== undefined && /^w[0-9a-f]+$/.test(first) ? [equal(`$queue.${first}.since`, NOW)] : [];
}
