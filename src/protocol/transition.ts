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
import type { Seats } from './seats.js';

/** What a request asks for: the attempt id names the waiter and then the lease, from the queue to the release. */
export interface Request {
  readonly id: string;
  readonly process: string;
  readonly leaseMs: number;
  readonly label?: string | undefined;
  readonly why?: string | undefined;
  /** Server time after which the request does nothing, so that it cannot take effect after its own cleanup (E2). */
  readonly notAfter: Date;
  /** Holders and waiters that the lock may have, this one included. */
  readonly maxMembers: number;
  /** How long the document outlives its last lease. */
  readonly retentionMs: number;
}

/** One step of a transition. `enqueue` and `try` are the only ones that create a lock document. */
export type Operation =
  | { readonly type: 'enqueue' | 'try'; readonly request: Request }
  /** Removes a waiter only: at a timeout the grant may have come first, and then the seat must stay. */
  | { readonly type: 'cancel'; readonly id: string }
  /** Removes a lease or a waiter. */
  | { readonly type: 'leave'; readonly id: string }
  /** Extends leases and places, each by its own stored lease; `leaseMs` is the longest of them. */
  | {
      readonly type: 'extend';
      readonly ids: readonly string[];
      readonly leaseMs: number;
      readonly retentionMs: number;
    }
  /** Asks holders to release: they are told, and not extended any more. */
  | { readonly type: 'ask'; readonly ids: readonly string[]; readonly why?: string | undefined }
  /** Empties seats at once; from then on only tokens protect against the old holder. */
  | { readonly type: 'evict'; readonly ids: readonly string[] };

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
    ...(adopting ? [adopt(seats)] : []),
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
    equal(those({ $objectToArray: '$queue' }, isMalformedWaiter), []),
  );

/** Looks at what transitions compute with; by the order of BSON values, what is missing is out of range. */
const isMalformedWaiter: Expression = any(
  not(
    match([
      [typeOf('$$this.v.process'), 'string'],
      [typeOf('$$this.v.expiresAt'), 'date'],
      [typeOf('$$this.v.leaseMs'), 'int'],
    ]),
  ),
  { $lt: ['$$this.v.leaseMs', MIN_LEASE_MS] },
  { $gt: ['$$this.v.leaseMs', MAX_LEASE_MS] },
);

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
        ...unlessIllegal(seats),
        before: when('$legal', { $objectToArray: '$was.queue' }, []),
        wake: '',
      },
    },
    { $set: { queue: those('$before', isLive('$$this.v.expiresAt')) } },
  ];
}

/** The live leases; none of an illegal document, whose types no later expression could trust. */
const unlessIllegal = ({ live, vacant }: Seats): Fields =>
  Object.fromEntries(
    Object.entries(live).map(([field, value]) => [field, when('$legal', value, vacant[field] ?? null)]),
  );

const isQueued = (id: string): Expression => isIn(idText(id), '$queue.k');

const queueWithout = (id: string): Expression => those('$queue', { $ne: ['$$this.k', idText(id)] });

function operate(seats: Seats, operation: Operation): readonly Stage[] {
  switch (operation.type) {
    case 'enqueue':
      return [{ $set: { queue: enqueue(seats, operation.request, []) } }];
    case 'try':
      // Only into an empty queue and an open seat, so that the admission which follows always lets it in (L3).
      return [{ $set: { queue: enqueue(seats, operation.request, [equal('$queue', []), seats.hasRoom]) } }];
    case 'cancel':
      return [{ $set: { queue: queueWithout(operation.id) } }];
    case 'leave':
      return [{ $set: leave(seats, operation.id) }];
    case 'extend':
      return [{ $set: extend(seats, operation.ids) }];
    case 'ask':
      return [
        { $set: { ...seats.markEnding(operation.ids, operation.why), wake: tell(seats, operation.ids) } },
      ];
    case 'evict':
      return [{ $set: { ...seats.vacate(operation.ids), wake: tell(seats, operation.ids) } }];
  }
}

/** The queue with this request at its end; as it was if the id is known already, comes too late or finds no room. */
function enqueue(seats: Seats, request: Request, conditions: readonly Expression[]): Expression {
  const { id, process, leaseMs, label, why, notAfter, maxMembers } = request;
  const waiter: Expression = {
    process,
    leaseMs,
    since: NOW,
    expiresAt: { $add: [NOW, leaseMs] },
    ...(label === undefined ? {} : { label: literal(label) }),
    ...(why === undefined ? {} : { why: literal(why) }),
  };
  const members: Expression = { $add: [{ $size: '$queue' }, seats.count] };
  return when(
    all(
      '$ok',
      not(any(seats.isHeldBy(id), isQueued(id))),
      { $lte: [NOW, notAfter] },
      { $lt: [members, maxMembers] },
      ...conditions,
    ),
    { $concatArrays: ['$queue', [{ k: id, v: waiter }]] },
    '$queue',
  );
}

/**
 * `-id:token` in `wake` tells the one who leaves which lease it gave back (`-id:0`: none), and makes the update a
 * real write: an update that changed nothing is acknowledged even by an isolated old primary.
 */
function leave(seats: Seats, id: string): Fields {
  return {
    ...seats.vacate([id]),
    queue: queueWithout(id),
    wake: { $concat: ['$wake', ` -${id}:`, { $toString: seats.tokenOf(id) }] },
  };
}

/** Extends places in the queue and leases alike; whoever is gone stays gone. */
function extend(seats: Seats, ids: readonly string[]): Fields {
  const extended = merge('$$this', {
    v: merge('$$this.v', { expiresAt: leaseFromNow('$$this.v.expiresAt', '$$this.v.leaseMs') }),
  });
  return {
    ...seats.extend(ids),
    queue: { $map: { input: '$queue', in: when(isIn('$$this.k', ids.map(idText)), extended, '$$this') } },
  };
}

/** `process:id:0` for each of these leases: look again. */
function tell(seats: Seats, ids: readonly string[]): Expression {
  const concerned = those(seats.leases, isIn('$$this.id', ids.map(idText)));
  return named(concerned, ['$$this.process', ':', '$$this.id', ':0']);
}

const named = (leases: Expression, name: readonly Expression[]): Expression => ({
  $reduce: { input: leases, initialValue: '$wake', in: { $concat: ['$$value', ' ', ...name] } },
});

const EVERYTHING = 2_147_483_647;

/** What a lease has from the waiter that it was. */
const TAKEN_OVER = ['process', 'leaseMs', 'expiresAt', 'label', 'why'] as const;

/**
 * Gives free seats to the first waiters, in order. A grant takes over the expiry that the waiter had and never
 * extends it: the grant of a dead waiter ends when its own last sign of life does (E5).
 */
function admit(seats: Seats, requested: readonly string[]): readonly Stage[] {
  // Field by field, because a strict API version 1 has no `$unsetField`; what the waiter lacks, the lease does.
  const taken = TAKEN_OVER.map((field): [string, Expression] => [field, `$$this.v.${field}`]);
  const lease: Expression = {
    id: '$$this.k',
    ...Object.fromEntries(taken),
    token: { $add: [{ $max: ['$fence', CLOCK_TOKEN] }, { $indexOfArray: ['$entering', '$$this'] }, 1] },
    acquiredAt: NOW,
  };
  // Whoever this very update has queued learns of its grant by the reply, or by the repeat of its request. One that was
  // queued before is named though its request is here: this may be a late copy, whose reply nobody awaits (E2).
  const isTold = all(isIn('$$this.k', requested), not(isIn('$$this.k', '$before.k')));
  const told: Fields = requested.length === 0 ? {} : { told: those('$entering', isTold) };
  const toName = requested.length === 0 ? '$granted' : those('$granted', not(isIn('$$this.id', '$told.k')));
  return [
    { $set: { entering: { $slice: ['$queue', seats.admissible] } } },
    { $set: { granted: { $map: { input: '$entering', in: lease } }, ...told } },
    {
      $set: {
        fence: { $ifNull: [{ $last: '$granted.token' }, '$fence'] },
        ...seats.occupy('$granted'),
        queue: { $slice: ['$queue', { $size: '$entering' }, EVERYTHING] },
        wake: named(toName, ['$$this.process', ':', '$$this.id', ':', { $toString: '$$this.token' }]),
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
    ...Object.fromEntries(Object.keys(seats.vacant).map((field) => [field, `$${field}`])),
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
