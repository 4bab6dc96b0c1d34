import {
  COMMON_SHAPE,
  FENCE_IN_RANGE,
  NOW,
  STORED_WAITERS,
  all,
  any,
  at,
  bind,
  equal,
  hasType,
  idText,
  indexesOf,
  isIn,
  isLive,
  leaseFromNow,
  literal,
  marked,
  match,
  merge,
  not,
  filter,
  typeOf,
  when,
} from '../expressions.js';
import type { Expression, Fields, Stage } from '../expressions.js';
import { takeOverKind } from './kind-takeover.js';
import { admit, tellKeepers } from './admission.js';
import { DOCUMENT_VERSION, MAX_KEEPS, MAX_LEASE_MS, MIN_LEASE_MS } from '../lock-document.js';
import type { Operation, RaiseFence, Request } from '../operation.js';
import { record } from './revocation.js';
import { purgeAfter } from './purging.js';
import type { Seats } from '../seats.js';
import { isOneOf } from '../stored-lease.js';
import { holdersTold, left, looked } from '../wake.js';

/**
 * This folder builds the updates of lock documents and the projections of their replies. This function builds the
 * pipeline of one transition: expire once → operate and admit for each operation → publish once.
 *
 * Between the stages the document is a state: `was` is the stored document, `ok` says whether it may be changed, and
 * `before` is its queue as an array. Beside them are the fence, the seats, the present queue as an array, and the new
 * `wake`. A document that is corrupt or of another kind comes out exactly as it went in. The stages see it as an empty
 * queue, which takes no waiter, so no expression fails on bad data.
 *
 * @param takingOver - Take over the document of an idle lock of another kind first. The process asks for it in a second
 *   update, after it has found such a document: its expressions would make every transition more expensive.
 */
export function transition(
  seats: Seats,
  operations: readonly Operation[],
  { takingOver = false }: { readonly takingOver?: boolean } = {},
): readonly Stage[] {
  const requested = operations.flatMap((operation) => ('request' in operation ? [operation.request.id] : []));
  const admission = admit(seats, requested);
  return [
    ...(takingOver ? [takeOverKind(seats, operations)] : []),
    ...expire(seats, operations),
    ...(operations.length === 0 ? admission : []),
    ...operations.flatMap((operation) => [
      ...operate(seats, operation),
      ...admission,
      ...tellKeepers(seats, operation),
    ]),
    publish(seats, operations),
  ];
}

/** Whether these operations may create the document. */
export const mayCreate = (operations: readonly Operation[]): boolean =>
  operations.some(({ type }) => type === 'enqueue' || type === 'try');

const isNew: Expression = equal('$$ROOT', { _id: '$_id' });

/** Whether the stored document is legal for these seats. It never fails, whatever is stored. */
export const isWellFormed = (seats: Seats, waiters: Expression = { $objectToArray: '$queue' }): Expression =>
  all(
    match([['$kind', seats.kind], ...COMMON_SHAPE]),
    ...FENCE_IN_RANGE,
    seats.wellFormed,
    equal(filter(waiters, not(all(...isWaiter(seats)))), []),
  );

/** The fields that transitions compute with. A missing field is out of range, by the order of BSON types. */
const IS_WAITER: readonly Expression[] = [
  match([
    [typeOf('$$this.v.process'), 'string'],
    [typeOf('$$this.v.expiresAt'), 'date'],
    [typeOf('$$this.v.leaseMs'), 'int'],
  ]),
  { $gte: ['$$this.v.leaseMs', MIN_LEASE_MS] },
  { $lte: ['$$this.v.leaseMs', MAX_LEASE_MS] },
];

const isWaiter = (seats: Seats): readonly Expression[] => [
  ...IS_WAITER,
  ...(seats.mayKeep ? [KEEPS_IN_RANGE] : []),
  ...seats.isWaiter,
];

/** Tokens are computed with `keeps`. */
const KEEPS_IN_RANGE: Expression = any(
  hasType('$$this.v.keeps', 'missing'),
  all(
    hasType('$$this.v.keeps', 'int'),
    { $gte: ['$$this.v.keeps', 0] },
    { $lte: ['$$this.v.keeps', MAX_KEEPS] },
  ),
);

/** Makes the state out of the document, and drops every expired lease and waiter. */
function expire(seats: Seats, operations: readonly Operation[]): readonly Stage[] {
  const mayBeNew = mayCreate(operations);
  const taken: Fields = {
    was: '$$ROOT',
    before: '$$before',
    legal: isWellFormed(seats, '$$before'),
    ...(mayBeNew ? { new: isNew } : {}),
  };
  // With hundreds of waiters, each filter costs as much as a plain update, and so does making an array of them.
  const isAnyOver: Expression = { $lte: [{ $min: '$before.v.expiresAt' }, NOW] };
  return [
    { $replaceWith: bind({ before: STORED_WAITERS }, taken) },
    {
      $set: {
        ok: mayBeNew ? any('$legal', '$new') : '$legal',
        fence: when('$legal', '$was.fence', { $toLong: 0 }),
        ...liveSeats(seats, operations),
        before: when('$legal', '$before', []),
        wake: '',
      },
    },
    { $set: { queue: when(isAnyOver, filter('$before', isLive('$$this.v.expiresAt')), '$before') } },
  ];
}

/** The seat fields with the live leases. An illegal document counts as vacant: no stage could trust its types. */
function liveSeats(seats: Seats, operations: readonly Operation[]): Fields {
  const vacant = seats.vacant(operations);
  const live = Object.entries(seats.live);
  return Object.fromEntries(
    live.map(([field, value]) => [field, when('$legal', value, vacant[field] ?? null)]),
  );
}

const isQueued = (id: string): Expression => isIn(idText(id), '$queue.k');

const queueWithout = (id: string): Expression => filter('$queue', { $ne: ['$$this.k', idText(id)] });

function operate(seats: Seats, operation: Operation): readonly Stage[] {
  switch (operation.type) {
    case 'enqueue':
      return enqueue(seats, operation.request, []);
    case 'try': {
      // Only into an empty queue and a free seat, so that the admission that follows always lets it in (L3).
      const { request } = operation;
      return enqueue(seats, request, [equal('$queue', []), seats.hasRoomFor(request)]);
    }
    case 'cancel':
      return [{ $set: { queue: queueWithout(operation.id) } }];
    case 'leave':
      return [{ $set: leave(seats, operation.id) }];
    case 'extend':
      return [{ $set: extend(seats, operation.ids, operation.nonce) }];
    case 'ask': {
      const { ids, why } = operation;
      const marked = { ...seats.markEnding(ids, why), wake: tell(seats, ids) };
      return [...record(seats, operation, false), { $set: marked }];
    }
    case 'evict': {
      const { ids } = operation;
      const emptied = { ...seats.evict(ids), wake: tell(seats, ids) };
      return [...record(seats, operation, true), { $set: emptied }];
    }
    case 'raiseFence':
      return [{ $set: raiseFence(seats, operation) }];
    case 'exchange':
    case 'resize':
    case 'handOver':
    case 'claim':
    case 'conclude':
    case 'call':
      return seats.own(operation);
  }
}

/**
 * Puts the request at the end of the queue. The queue stays as it is if the id is known already, the request comes
 * after its not-after, the lock is full, or a condition of its kind or of this call is not met.
 */
function enqueue(seats: Seats, request: Request, conditions: readonly Expression[]): readonly Stage[] {
  const { id, notAfter, maxMembers } = request;
  const members: Expression = { $add: [{ $size: '$queue' }, seats.count] };
  const isAccepted = all(
    '$ok',
    not(any(seats.isHeldBy(id), isQueued(id))),
    { $lte: [NOW, notAfter] },
    { $lt: [members, maxMembers] },
    ...seats.conditions(request),
  );
  const queueIf = (condition: Expression): Stage => ({
    $set: {
      queue: when(
        all(condition, ...conditions),
        { $concatArrays: ['$queue', [{ k: id, v: waiterOf(seats, request) }]] },
        '$queue',
      ),
    },
  });
  const before = seats.beforeQueued(request);
  if (before.length === 0) return [queueIf(isAccepted)];
  return [{ $set: { isAccepted } }, ...before, queueIf('$isAccepted')];
}

function waiterOf(seats: Seats, request: Request): Fields {
  const { process, leaseMs, label, why, keeps } = request;
  return {
    process,
    leaseMs,
    since: NOW,
    expiresAt: { $add: [NOW, leaseMs] },
    ...seats.requestFields(request),
    ...(label === undefined ? {} : { label: literal(label) }),
    ...(why === undefined ? {} : { why: literal(why) }),
    ...(keeps === undefined ? {} : { keeps }),
  };
}

/**
 * The word in `wake` tells the process which lease it gave back. It also makes the update a real write: even an
 * isolated old primary acknowledges an update that changes nothing.
 */
const leave = (seats: Seats, id: string): Fields => ({
  ...seats.vacate(id),
  queue: queueWithout(id),
  wake: left(id, seats.tokenOf(id)),
});

/** Extends leases and places in the queue. An attempt that has neither stays absent. */
function extend(seats: Seats, ids: readonly string[], nonce: string): Fields {
  const [id, ...others] = ids;
  const queue =
    id !== undefined && others.length === 0
      ? { $map: { input: '$queue', in: when(equal('$$this.k', idText(id)), EXTENDED, '$$this') } }
      : queueWithExtended(ids);
  return { ...seats.extend(ids), queue, wake: looked(nonce) };
}

const EXTENDED: Expression = merge('$$this', {
  v: merge('$$this.v', { expiresAt: leaseFromNow('$$this.v.expiresAt', '$$this.v.leaseMs') }),
});

/** One pass over the queue, however many places are extended: a process may have thousands. */
const queueWithExtended = (ids: readonly string[]): Expression =>
  bind(
    { marks: bind({ marks: marked({ $arrayToObject: '$queue' }, ids) }, '$$marks.v') },
    {
      $map: {
        input: indexesOf('$queue'),
        as: 'index',
        in: bind(
          { this: at('$queue', '$$index') },
          when(equal(at('$$marks', '$$index'), true), EXTENDED, '$$this'),
        ),
      },
    },
  );

/** The reply shows the lease and the fence, and so whether the fence was raised. */
const raiseFence = (seats: Seats, { id, token, nonce }: RaiseFence): Fields => ({
  fence: when(seats.isHeldBy(id), { $max: ['$fence', { $toLong: token }] }, '$fence'),
  wake: looked(nonce),
});

/** `wake` with “look again” for each of these leases. */
const tell = (seats: Seats, ids: readonly string[]): Expression =>
  holdersTold(seats.leases, isOneOf('$$this', ids));

/**
 * Makes the document out of the state. `purgeAt` only rises. It covers each lease that these operations may have given;
 * the stored value covers the leases that were there before (E11).
 */
function publish(seats: Seats, operations: readonly Operation[]): Stage {
  const lifetimesMs = operations.flatMap(lifetimeMs);
  const purgeAt: Fields =
    lifetimesMs.length === 0
      ? {}
      : { purgeAt: purgeAfter(Math.max(...lifetimesMs), '$was.purgeAt', '$fence') };
  const published = merge('$was', {
    ...(mayCreate(operations) ? { kind: seats.kind, v: DOCUMENT_VERSION } : {}),
    fence: '$fence',
    ...Object.fromEntries(Object.keys(seats.live).map((field) => [field, `$${field}`])),
    ...seats.derived,
    queue: { $arrayToObject: '$queue' },
    wake: '$wake',
    ...purgeAt,
  });
  return { $replaceWith: when('$ok', published, '$was') };
}

function lifetimeMs(operation: Operation): readonly number[] {
  if ('request' in operation) return [operation.request.leaseMs + operation.request.retentionMs];
  if (operation.type === 'extend') return [operation.leaseMs + operation.retentionMs];
  return [];
}
