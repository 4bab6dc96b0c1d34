import {
  CLOCK_TOKEN,
  COMMON_SHAPE,
  FENCE_IN_RANGE,
  NOW,
  all,
  any,
  equal,
  idText,
  isIn,
  isLive,
  leaseFromNow,
  literal,
  match,
  merge,
  not,
  those,
  typeOf,
  when,
} from './expressions.js';
import type { Expression, Fields, Stage } from './expressions.js';
import { adopt } from './adoption.js';
import { DOCUMENT_VERSION, MAX_LEASE_MS, MIN_LEASE_MS } from './lock-document.js';
import type { Operation, Request } from './operation.js';
import type { Seats } from './seats.js';
import { granted, holdersTold, left, looked } from './wake.js';

/**
 * The pipeline of one atomic change: expire once → for each operation: operate, admit → publish once.
 *
 * Between the stages the document is taken apart: `was` is what is stored, `ok` whether it may be changed, `before`
 * its queue as an array; and beside them stand the fence, the seats, the queue of now as an array, and what `wake` will
 * say. A document that is corrupt or of another kind counts as an empty queue into which nothing is put, so that no
 * expression can fail on bad data, and comes out exactly as it went in.
 *
 * `adopting` takes over the document of an idle lock of another kind first: asked for by whoever found one, in a
 * second update, because as a part of every transition it would cost each of them.
 */
export function transition(
  seats: Seats,
  operations: readonly Operation[],
  { adopting = false }: { readonly adopting?: boolean } = {},
): readonly Stage[] {
  const requested = operations.flatMap((operation) => ('request' in operation ? [operation.request.id] : []));
  const admission = admit(seats, requested);
  return [
    ...(adopting ? [adopt(seats, operations)] : []),
    ...expire(seats, operations),
    ...(operations.length === 0 ? admission : []),
    ...operations.flatMap((operation) => [...operate(seats, operation), ...admission]),
    publish(seats, operations),
  ];
}

/** Whether these operations may create the document. */
export const mayCreate = (operations: readonly Operation[]): boolean =>
  operations.some(({ type }) => type === 'enqueue' || type === 'try');

const isNew: Expression = equal('$$ROOT', { _id: '$_id' });

/** Whether the stored document is legal for these seats. Never fails, whatever is stored. */
export const isWellFormed = (seats: Seats): Expression =>
  all(
    match([['$kind', seats.kind], ...COMMON_SHAPE]),
    ...FENCE_IN_RANGE,
    seats.wellFormed,
    equal(those({ $objectToArray: '$queue' }, not(all(...IS_WAITER, ...seats.isWaiter))), []),
  );

/** Looks at what transitions compute with; by the order of BSON values, what is missing is out of range. */
const IS_WAITER: readonly Expression[] = [
  match([
    [typeOf('$$this.v.process'), 'string'],
    [typeOf('$$this.v.expiresAt'), 'date'],
    [typeOf('$$this.v.leaseMs'), 'int'],
  ]),
  { $gte: ['$$this.v.leaseMs', MIN_LEASE_MS] },
  { $lte: ['$$this.v.leaseMs', MAX_LEASE_MS] },
];

/** Takes the document apart and drops every lease and waiter whose time is over. */
function expire(seats: Seats, operations: readonly Operation[]): readonly Stage[] {
  const legal = isWellFormed(seats);
  const mayBeNew = mayCreate(operations);
  return [
    { $replaceWith: { was: '$$ROOT', legal, ...(mayBeNew ? { new: isNew } : {}) } },
    {
      $set: {
        ok: mayBeNew ? any('$legal', '$new') : '$legal',
        fence: when('$legal', '$was.fence', { $toLong: 0 }),
        ...unlessIllegal(seats, operations),
        before: when('$legal', { $objectToArray: '$was.queue' }, []),
        wake: '',
      },
    },
    { $set: { queue: those('$before', isLive('$$this.v.expiresAt')) } },
  ];
}

/** The live leases; none of an illegal document, whose types no later expression could trust. */
function unlessIllegal(seats: Seats, operations: readonly Operation[]): Fields {
  const vacant = seats.vacant(operations);
  const live = Object.entries(seats.live);
  return Object.fromEntries(
    live.map(([field, value]) => [field, when('$legal', value, vacant[field] ?? null)]),
  );
}

const isQueued = (id: string): Expression => isIn(idText(id), '$queue.k');

const queueWithout = (id: string): Expression => those('$queue', { $ne: ['$$this.k', idText(id)] });

function operate(seats: Seats, operation: Operation): readonly Stage[] {
  switch (operation.type) {
    case 'enqueue':
      return enqueue(seats, operation.request, []);
    case 'try': {
      // Only into an empty queue and an open seat, so that the admission which follows always lets it in (L3).
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
      return [{ $set: { ...seats.markEnding(ids, why), wake: tell(seats, ids) } }];
    }
    case 'evict': {
      const { ids } = operation;
      return [{ $set: { ...seats.evict(ids), wake: tell(seats, ids) } }];
    }
    case 'exchange':
    case 'resize':
      return seats.own(operation);
  }
}

/**
 * The queue with this request at its end; as it was if the id is known already, comes too late, finds no room among the
 * members, or does not meet what its kind or these conditions demand.
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
  const { process, leaseMs, label, why } = request;
  return {
    process,
    leaseMs,
    since: NOW,
    expiresAt: { $add: [NOW, leaseMs] },
    ...seats.demanded(request),
    ...(label === undefined ? {} : { label: literal(label) }),
    ...(why === undefined ? {} : { why: literal(why) }),
  };
}

/**
 * The word in `wake` tells the one who leaves which lease it gave back, and makes the update a real write: an update
 * that changed nothing is acknowledged even by an isolated old primary.
 */
const leave = (seats: Seats, id: string): Fields => ({
  ...seats.vacate(id),
  queue: queueWithout(id),
  wake: left(id, seats.tokenOf(id)),
});

/** Extends places in the queue and leases alike; whoever is gone stays gone. */
function extend(seats: Seats, ids: readonly string[], nonce: string): Fields {
  const extended = merge('$$this', {
    v: merge('$$this.v', { expiresAt: leaseFromNow('$$this.v.expiresAt', '$$this.v.leaseMs') }),
  });
  return {
    ...seats.extend(ids),
    queue: { $map: { input: '$queue', in: when(isIn('$$this.k', ids.map(idText)), extended, '$$this') } },
    wake: looked(nonce),
  };
}

/** Each of these leases is told to look again. */
const tell = (seats: Seats, ids: readonly string[]): Expression =>
  holdersTold(seats.leases, isIn('$$this.id', ids.map(idText)));

const EVERYTHING = 2_147_483_647;

/** What a lease has from the waiter that it was. */
const TAKEN_OVER = ['process', 'leaseMs', 'expiresAt', 'label', 'why'] as const;

/**
 * Gives free seats to the first in line, in order. A grant takes over the expiry that the waiter had and never
 * extends it: the grant of a dead waiter ends when its own last sign of life does (E5).
 */
function admit(seats: Seats, requested: readonly string[]): readonly Stage[] {
  // Field by field, because a strict API version 1 has no `$unsetField`; what the waiter lacks, the lease does.
  const taken = [...TAKEN_OVER, ...seats.ownFields].map((field): [string, Expression] => [
    field,
    `$$this.v.${field}`,
  ]);
  const lease: Expression = {
    id: '$$this.k',
    ...Object.fromEntries(taken),
    token: { $add: [{ $max: ['$fence', CLOCK_TOKEN] }, { $indexOfArray: ['$entering', '$$this'] }, 1] },
    acquiredAt: NOW,
  };
  // Whoever this very update has queued learns of its grant by the reply, or by the repeat of its request. One that was
  // queued before is named though its request is here: this may be a late copy, whose reply nobody awaits (E2).
  const isTold = all(isIn('$$this.k', requested), not(isIn('$$this.k', '$before.k')));
  const fromQueue: Expression = { $slice: ['$entering', seats.enteringFromQueue] };
  const told: Fields = requested.length === 0 ? {} : { told: those(fromQueue, isTold) };
  const toName = requested.length === 0 ? '$granted' : those('$granted', not(isIn('$$this.id', '$told.k')));
  return [
    { $set: { entering: seats.entering } },
    { $set: { granted: { $map: { input: '$entering', in: lease } }, ...told } },
    {
      $set: {
        fence: { $ifNull: [{ $last: '$granted.token' }, '$fence'] },
        ...seats.occupy('$granted'),
        queue: { $slice: ['$queue', seats.enteringFromQueue, EVERYTHING] },
        wake: granted(toName),
      },
    },
  ];
}

const DAY_MS = 86_400_000;

/** A date this far ahead of now, rounded up to the day, so that the index on it is rarely touched. */
export const purgeAfter = (ms: number): Expression => ({
  $dateTrunc: { date: { $add: [NOW, ms + DAY_MS - 1] }, unit: 'day' },
});

/**
 * Puts the document together again. `purgeAt` only ever rises, to cover whatever lease these operations may have
 * given; the leases that were there before are covered by the value they came with (E11).
 */
function publish(seats: Seats, operations: readonly Operation[]): Stage {
  const lifetimesMs = operations.flatMap(lifetimeMs);
  const purgeAt: Fields =
    lifetimesMs.length === 0
      ? {}
      : { purgeAt: { $max: ['$was.purgeAt', purgeAfter(Math.max(...lifetimesMs))] } };
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
