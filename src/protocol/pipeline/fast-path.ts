import {
  CLOCK_TOKEN,
  FENCE_IN_RANGE,
  NOW,
  all,
  bind,
  idText,
  isLive,
  literal,
  match,
  merge,
  typeOf,
  when,
} from '../expressions.js';
import type { Expression, Fields, Stage } from '../expressions.js';
import { DOCUMENT_VERSION } from '../lock-document.js';
import type { Operation, Request } from '../operation.js';
import { LEAVE_PROJECTION, isLease, timeOf } from '../replies/reply.js';
import type { Reply } from '../replies/reply.js';
import type { Seats, StoredFields } from '../seats.js';
import { purgeAfter } from './purging.js';
import { left, readWake } from '../wake.js';

/**
 * The fast paths of the two transitions of a lock that nobody else uses: into a vacant lock with an empty queue, and
 * out of one that holds nothing else. Each either does exactly what the transition would, or leaves the document as it
 * is, and then the transition has to be sent.
 *
 * What a pipeline costs is the number of its expressions (0.5 to 1 µs each, most of it for reading them): these have a
 * quarter, and take the cost of an acquire over a bare write from a half to a fifth.
 */
export interface FastPath {
  readonly pipeline: readonly Stage[];
  readonly fields: Fields;
  /** What the answer would be had the transition been sent; `undefined`: the fast path did not apply. */
  read(document: StoredFields): FastPathAnswer | undefined;
}

export interface FastPathAnswer {
  readonly wake: readonly string[];
  readonly reply: Reply | null;
  /** The server's time of the update. */
  readonly nowMs: number | undefined;
}

/** `undefined`: the operation has no fast path. */
export function fastPath(seats: Seats, operation: Operation): FastPath | undefined {
  if (operation.type === 'leave') return leaving(seats, operation.id);
  if (operation.type !== 'enqueue' && operation.type !== 'try') return undefined;
  return entering(seats, operation.request);
}

/** The queue is empty and the common fields are legal. */
const isUncontended = (
  seats: Seats,
  own: readonly (readonly [Expression, Expression])[],
): readonly Expression[] => [
  match([
    ['$kind', seats.kind],
    ['$v', DOCUMENT_VERSION],
    ['$queue', literal({})],
    [typeOf('$fence'), 'long'],
    [typeOf('$wake'), 'string'],
    [typeOf('$purgeAt'), 'date'],
    ...own,
  ]),
  ...FENCE_IN_RANGE,
];

function entering(seats: Seats, request: Request): FastPath {
  const { id, process, label, why, keeps, notAfter, retentionMs } = request;
  const addedMs = seats.lengthenedBy === null ? 0 : (request[seats.lengthenedBy] ?? 0);
  const leaseMs = request.leaseMs + addedMs;
  const lease: Fields = {
    id,
    process,
    leaseMs,
    expiresAt: { $add: [NOW, leaseMs] },
    ...(label === undefined ? {} : { label: literal(label) }),
    ...(why === undefined ? {} : { why: literal(why) }),
    ...(keeps === undefined ? {} : { keeps }),
    ...seats.demanded(request),
    token: '$$token',
    acquiredAt: NOW,
  };
  const fence: Expression = keeps === undefined ? '$$token' : { $add: ['$$token', keeps] };
  const taken = merge('$$ROOT', {
    fence,
    ...seats.alone.taken(lease, request),
    wake: '',
    purgeAt: purgeAfter(request.leaseMs + retentionMs, '$purgeAt', fence),
  });
  const condition = all(
    ...isUncontended(seats, seats.alone.vacant),
    { $lte: [NOW, notAfter] },
    ...seats.alone.conditions(request),
  );
  const token = { $add: [{ $max: ['$fence', CLOCK_TOKEN] }, 1] };
  return {
    pipeline: [{ $replaceWith: when(condition, bind({ token }, taken), '$$ROOT') }],
    fields: { _id: 0, now: NOW, fence: 1, ...seats.alone.fields },
    read: (document) => readTaken(seats, document, id),
  };
}

function readTaken(seats: Seats, document: StoredFields, id: string): FastPathAnswer | undefined {
  const { now, fence, limit } = document;
  const [lease, ...others] = seats.leasesIn(document);
  // Granted by this very update: what an earlier one did, an isolated old primary may show.
  const isTaken =
    isLease(lease) &&
    others.length === 0 &&
    lease.id === id &&
    now instanceof Date &&
    lease.acquiredAt.getTime() === now.getTime();
  if (!isTaken) return undefined;
  const reply: Reply = {
    nowMs: now.getTime(),
    kind: seats.kind,
    sound: true,
    fence: Number(fence),
    wake: [],
    leases: [lease],
    seated: 1,
    limit: typeof limit === 'number' ? limit : undefined,
    places: [],
    waiters: 0,
    ownWaiters: 0,
    earliestMs: lease.expiresAt.getTime(),
  };
  return { wake: [], reply, nowMs: reply.nowMs };
}

function leaving(seats: Seats, id: string): FastPath {
  const { alone } = seats;
  const condition = all(
    ...isUncontended(seats, alone.heldBy(idText(id))),
    seats.wellFormed,
    isLive(alone.expiresAt),
  );
  const vacated = merge('$$ROOT', { ...alone.vacated, wake: left(id, alone.token, '') });
  return {
    pipeline: [{ $replaceWith: when(condition, vacated, '$$ROOT') }],
    fields: LEAVE_PROJECTION,
    // The word of an earlier leave would look the same: a repeat must be the whole transition.
    read: (document) => {
      const wake = readWake(document['wake']);
      const isLeft = wake.length === 1 && wake[0]?.startsWith(`-${id}:`) === true;
      return isLeft ? { wake, reply: null, nowMs: timeOf(document) } : undefined;
    },
  };
}
