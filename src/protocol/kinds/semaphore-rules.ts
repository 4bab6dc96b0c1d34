import { NOW, all, any, bind, equal, hasType, isIn, not, filter, when } from '../expressions.js';
import type { Expression, Stage } from '../expressions.js';
import { arrayOf, leaseList, readShownList } from './lease-list.js';
import { MAX_LIMIT } from '../lock-document.js';
import type { Operation, Request } from '../operation.js';
import type { KindRules } from '../kind-rules.js';
import { keepersTold, waitersTold } from '../wake.js';

const holders = leaseList('holders');

const inUse: Expression = { $sum: '$holders.permits' };

const isCount = (path: string): Expression =>
  all(hasType(path, 'int'), { $gte: [path, 1] }, { $lte: [path, MAX_LIMIT] });

const permitsOf = ({ permits = 1 }: Request): number => permits;

/** The limit that the document has after the server has accepted this request. */
const limitFor = ({ mustMatch, setsLimit, limit }: Request): Expression =>
  (mustMatch === true || setsLimit === true) && limit !== undefined ? limit : '$limit';

/**
 * How many of the first waiters fit into the free permits. The first waiter that does not fit blocks those behind it,
 * so that small requests do not starve a large one (L3). Each waiter takes at least one permit, so it is enough to look
 * at as many waiters as there are free permits.
 */
const fitting: Expression = bind(
  { free: { $max: [0, { $subtract: ['$limit', inUse] }] } },
  when(
    any(equal('$queue', []), equal('$$free', 0)),
    0,
    bind(
      {
        counted: {
          $reduce: {
            input: { $slice: ['$queue.v.permits', '$$free'] },
            initialValue: { fitting: 0, remaining: '$$free' },
            in: when(
              { $lte: ['$$this', '$$value.remaining'] },
              {
                fitting: { $add: ['$$value.fitting', 1] },
                remaining: { $subtract: ['$$value.remaining', '$$this'] },
              },
              { fitting: '$$value.fitting', remaining: -1 },
            ),
          },
        },
      },
      '$$counted.fitting',
    ),
  ),
);

/** No grant makes the sum of the permits exceed the limit. The head of the queue enters when its permits fit. */
export const semaphoreRules: KindRules = {
  kind: 'semaphore',
  keeping: 'passed',
  // True if more permits are in use than a new, smaller limit allows.
  endsKeeping: all(isCount('$limit'), { $gt: [inUse, '$limit'] }),
  entersOne: false,
  mayOvertake: false,
  ownFields: ['permits'],
  lengthenedBy: null,
  vacant: (operations) => ({ limit: firstLimit(operations), holders: [] }),
  wellFormed: all(isCount('$limit'), holders.wellFormed(isCount('$$this.permits'))),
  isWaiter: [isCount('$$this.permits')],
  live: { limit: '$was.limit', holders: holders.live },
  derived: {},
  stored: holders.stored,
  leasesIn: ({ holders: stored }) => arrayOf(stored),
  shown: (ids) => ({ limit: 1, holders: holders.shown(ids) }),
  readShown: ({ limit, holders: shown }) => ({ ...readShownList(shown), limit }),
  leases: '$holders',
  count: holders.count,
  isHeldBy: (id) => holders.has(id),
  tokenOf: (id) => holders.tokenOf(id),
  entering: { $slice: ['$queue', fitting] },
  enteringFromQueue: { $size: '$entering' },
  hasToWait: () => null,
  conditions,
  requestFields: (request) => ({ permits: permitsOf(request) }),
  // With `mustMatch` and another stored limit, `$isAccepted` is true only for an idle lock. So such a request does not
  // change the limit of a lock in use.
  beforeQueued: (request) => {
    const limit = limitFor(request);
    return typeof limit === 'number' ? resize('$isAccepted', limit) : [];
  },
  hasRoomFor: (request) => ({ $lte: [{ $add: [inUse, permitsOf(request)] }, '$limit'] }),
  occupy: (leases) => ({ holders: { $concatArrays: ['$holders', leases] } }),
  vacate: (id) => ({ holders: holders.without(id) }),
  evict: (ids) => ({ holders: holders.withoutAll(ids) }),
  extend: (ids) => ({ holders: holders.extended(ids) }),
  markEnding: (ids, why) => ({ holders: holders.markedEnding(ids, why) }),
  uncontended: {
    vacant: [['$holders', []]],
    conditions: (request) => [isCount('$limit'), { $lte: [permitsOf(request), limitFor(request)] }],
    taken: (lease, request) => ({ holders: [lease], limit: limitFor(request) }),
    fields: { limit: 1, holders: { $slice: 1 } },
    heldByOneOf: (ids) =>
      isIn(
        '$holders.id',
        ids.map((id) => [id]),
      ),
    id: { $first: '$holders.id' },
    token: { $first: '$holders.token' },
    expiresAt: { $first: '$holders.expiresAt' },
    vacated: { holders: [] },
  },
  own: (operation) =>
    operation.type === 'resize' ? resize({ $lte: [NOW, operation.notAfter] }, operation.limit) : [],
};

function conditions(request: Request): readonly Expression[] {
  // A request for more permits than the limit could not enter, and would block the waiters behind it.
  const fits: Expression = { $lte: [permitsOf(request), limitFor(request)] };
  if (request.mustMatch !== true) return [fits];
  const isIdle = all(equal('$queue', []), holders.isEmpty);
  return [fits, any(equal('$limit', limitFor(request)), isIdle)];
}

/** The limit of a new semaphore: the first limit that an operation names, else 1. */
function firstLimit(operations: readonly Operation[]): number {
  for (const operation of operations) {
    if (operation.type === 'resize') return operation.limit;
    if ('request' in operation && operation.request.limit !== undefined) return operation.request.limit;
  }
  return 1;
}

/**
 * Sets the limit if the condition holds. Permits that are held stay held. A waiter that asks for more than the limit is
 * removed and named in `wake`.
 */
function resize(condition: Expression, limit: number): readonly Stage[] {
  const asksTooMuch: Expression = all(condition, { $gt: ['$$this.v.permits', limit] });
  return [
    {
      $set: {
        limit: when(condition, limit, '$limit'),
        wake: waitersTold('$queue', asksTooMuch),
        queue: filter('$queue', not(asksTooMuch)),
      },
    },
    // If more permits are taken than the limit allows, the keepers are told. They give back the permits of idle kept
    // seats at once, and other permits when their callers release them. The option `passes` allows a few passes first.
    { $set: { wake: keepersTold('$holders', all(condition, { $gt: [inUse, '$limit'] })) } },
  ];
}
