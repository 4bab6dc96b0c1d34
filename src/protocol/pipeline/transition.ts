// Folder `pipeline`: the updates of lock documents, the projections of reads, and the check whether a document is
// well-formed.

import { IS_NEW, STORED_WAITERS, any, filter, isLive, merge, when } from '../expressions.js';
import type { Fields, Stage } from '../expressions.js';
import { DOCUMENT_VERSION } from '../lock-document.js';
import type { Operation } from '../operation.js';
import type { KindRules } from '../kind-rules.js';
import { admit, tellKeepers } from './admission.js';
import type { AdmissionOptions } from './admission.js';
import { operate, traceDeparture } from './effects.js';
import { takeOverKind } from './kind-takeover.js';
import { MAY_HAVE_EXPIRED, withPlaces } from './places.js';
import { purgeAfter } from './purging.js';
import { isWellFormedWithPlaces } from './verdict.js';

/**
 * Builds the pipeline of one transition: expire once → operate and admit for each operation → publish once.
 *
 * Between the stages, the pipeline works on a temporary form of the document, the *state*. In the state, `was` is the
 * stored document, `ok` says whether the document may be changed, and `before` is the stored queue as an array. Beside
 * them are the fence, the seats, the present queue as an array, and the new `wake`.
 *
 * A document that is corrupt or of another kind comes out exactly as it went in. For such a document, the stages see
 * an empty queue and vacant seats, so no expression fails on bad data.
 *
 * @param takingOver - Whether to take over the document of an idle lock of another kind first. The process asks for
 *   the takeover only in a second update, after the reply to the first one has shown another kind. The first update
 *   has no takeover, because the expressions of a takeover would make every transition more expensive.
 */
export function transition(
  rules: KindRules,
  operations: readonly Operation[],
  { takingOver = false, ...admitted }: { readonly takingOver?: boolean } & AdmissionOptions = {},
): readonly Stage[] {
  const requested = operations.flatMap((operation) => ('request' in operation ? [operation.request.id] : []));
  const admission = admit(rules, requested, admitted);
  return [
    ...(takingOver ? [takeOverKind(rules, operations)] : []),
    ...expire(rules, operations),
    ...(operations.length === 0 ? admission : []),
    ...operations.flatMap((operation) => [
      ...(admitted.keepsTraces === true ? traceDeparture(rules, operation) : []),
      ...operate(rules, operation),
      ...admission,
      ...tellKeepers(rules, operation),
    ]),
    publish(rules, operations),
  ];
}

export const mayCreate = (operations: readonly Operation[]): boolean =>
  operations.some(({ type }) => type === 'enqueue' || type === 'try' || type === 'claimWithoutTerm');

/** Makes the state out of the document, and drops every expired lease and waiter. */
function expire(rules: KindRules, operations: readonly Operation[]): readonly Stage[] {
  const mayBeNew = mayCreate(operations);
  const taken: Fields = {
    was: '$$ROOT',
    before: '$$places',
    isWellFormed: isWellFormedWithPlaces(rules),
    mayHaveExpired: MAY_HAVE_EXPIRED,
    ...(mayBeNew ? { new: IS_NEW } : {}),
  };
  return [
    { $replaceWith: withPlaces(STORED_WAITERS, taken) },
    {
      $set: {
        ok: mayBeNew ? any('$isWellFormed', '$new') : '$isWellFormed',
        fence: when('$isWellFormed', '$was.fence', { $toLong: 0 }),
        ...liveSeats(rules, operations),
        before: when('$isWellFormed', '$before', []),
        wake: '',
      },
    },
    { $set: { queue: when('$mayHaveExpired', filter('$before', isLive('$$this.v.expiresAt')), '$before') } },
  ];
}

/**
 * The seat fields with the live leases. A document that is corrupt or of another kind counts as vacant, because no
 * stage could rely on its types.
 */
function liveSeats(rules: KindRules, operations: readonly Operation[]): Fields {
  const vacant = rules.vacant(operations);
  const live = Object.entries(rules.live);
  return Object.fromEntries(
    live.map(([field, value]) => [field, when('$isWellFormed', value, vacant[field] ?? null)]),
  );
}

/**
 * Makes the document out of the state. `purgeAt` only rises, so that no live lease is purged (E11). The new value
 * covers the requests, extensions and claims without a term among these operations. The stored value covers the leases
 * and waiters that were there before.
 */
function publish(rules: KindRules, operations: readonly Operation[]): Stage {
  const lifetimesMs = operations.flatMap(lifetimeMs);
  const purgeAt: Fields =
    lifetimesMs.length === 0
      ? {}
      : { purgeAt: purgeAfter(Math.max(...lifetimesMs), '$was.purgeAt', '$fence') };
  const published = merge('$was', {
    ...(mayCreate(operations) ? { kind: rules.kind, v: DOCUMENT_VERSION } : {}),
    fence: '$fence',
    ...Object.fromEntries(Object.keys(rules.live).map((field) => [field, `$${field}`])),
    ...rules.derived,
    queue: { $arrayToObject: '$queue' },
    wake: '$wake',
    ...purgeAt,
  });
  return { $replaceWith: when('$ok', published, '$was') };
}

function lifetimeMs(operation: Operation): readonly number[] {
  if ('request' in operation) return [operation.request.leaseMs + operation.request.retentionMs];
  if (operation.type === 'extend') return [operation.leaseMs + operation.retentionMs];
  if (operation.type === 'claimWithoutTerm') return [operation.retentionMs];
  return [];
}
