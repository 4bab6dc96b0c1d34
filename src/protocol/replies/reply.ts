import {
  NOW,
  STORED_WAITERS,
  at,
  bind,
  equal,
  hasType,
  indexesOf,
  marked,
  filter,
  when,
} from '../expressions.js';
import type { Expression, Fields } from '../expressions.js';
import { DOCUMENT_VERSION, LOCK_KINDS } from '../lock-document.js';
import type { Lease, LockKind } from '../lock-document.js';
import type { Request } from '../operation.js';
import type { Seats, StoredFields } from '../seats.js';
import { readWake } from '../wake.js';

/** One of this process's own places in the queue. */
export interface Place {
  readonly id: string;
  readonly expiresAt: Date;
  /** 0 for the head. */
  readonly place: number;
}

/** What a transition left behind, as far as this process is concerned. Times are the server's, in ms. */
export interface Reply {
  readonly nowMs: number;
  readonly kind: LockKind;
  /** False: what the reply shows is no legal lock document. Malformed waiters of others are not shown. */
  readonly sound: boolean;
  readonly fence: number;
  readonly wake: readonly string[];
  /** Those of the attempts concerned, and a few others. */
  readonly leases: readonly Lease[];
  /** How many leases there are. */
  readonly seated: number;
  /** Of a semaphore. */
  readonly limit: number | undefined;
  /** Those of the attempts concerned, in the order of the queue. */
  readonly places: readonly Place[];
  /** All waiters, also those of other processes. */
  readonly waiters: number;
  /** How many of them are this process's, if that was asked for. */
  readonly ownWaiters: number | undefined;
  /** The earliest expiry in the way of the first of `places`: of a seat, or of a waiter before it. */
  readonly earliestMs: number | null;
}

/** What became of one attempt. */
export type Fate =
  | { readonly type: 'granted'; readonly lease: Lease }
  | { readonly type: 'queued'; readonly place: Place }
  | { readonly type: 'absent' };

/**
 * Why a request was not let in, and not queued either. `unexplained`: what the reply shows is no reason, because the
 * same update has changed what was in the way: by another operation, or by an heir that followed a silent leader.
 */
export type Refusal = 'busy' | 'late' | 'full' | 'other-kind' | 'other-limit' | 'corrupt' | 'unexplained';

/**
 * The projection with which a transition that concerns these attempts is sent. The server computes it, so a reply stays
 * small: it shows no other waiter, because one process may have thousands in a queue. One attempt is the common case and
 * costs least.
 *
 * @param counted - The process whose waiters are counted: a process that keeps seats has to know whether others wait.
 */
export function replyProjection(seats: Seats, ids: readonly string[], counted?: string): Fields {
  const [id] = ids;
  // Only an id that we made can be part of a path.
  const isOnlyOne = ids.length === 1 && id !== undefined && /^w[0-9a-f]+$/.test(id);
  const mine = isOnlyOne ? [placeOf(id)] : placesOf(ids);
  const ahead: Expression = { $slice: ['$$waiters.v.expiresAt', { $max: [0, { $first: '$$mine.place' }] }] };
  const queue = {
    mine: '$$mine',
    length: { $size: '$$waiters' },
    earliest: { $min: ahead },
    ...(counted === undefined
      ? {}
      : { own: { $size: filter('$$waiters', equal('$$this.v.process', counted)) } }),
  };
  return {
    _id: 0,
    now: NOW,
    kind: 1,
    v: 1,
    fence: 1,
    wake: 1,
    ...seats.shown(ids),
    queue: bind({ waiters: STORED_WAITERS }, bind({ mine }, queue)),
  };
}

const placeOf = (id: string): Expression => ({
  id,
  expiresAt: `$queue.${id}.expiresAt`,
  place: { $indexOfArray: ['$$waiters.k', id] },
});

/** One pass over the queue, however many attempts. */
function placesOf(ids: readonly string[]): Expression {
  // A name of a field has no null byte, so such an id is in no queue.
  const names = ids.filter((id) => !id.includes('\0'));
  if (names.length === 0) return [];
  const queue = when(hasType('$queue', 'object'), '$queue', null);
  return bind(
    { marks: bind({ marks: marked(queue, names) }, '$$marks.v') },
    {
      $map: {
        input: filter(indexesOf('$$waiters'), equal(at('$$marks', '$$this'), true)),
        in: bind(
          { waiter: at('$$waiters', '$$this') },
          { id: '$$waiter.k', expiresAt: '$$waiter.v.expiresAt', place: '$$this' },
        ),
      },
    },
  );
}

/** What a departure that finds no lease has to tell besides. */
export const REVOKED_PROJECTION: Fields = { revoked: 1 };

/** The projection for operations that only leave: `wake` tells what they gave back. */
export const LEAVE_PROJECTION: Fields = { _id: 0, wake: 1, now: NOW, ...REVOKED_PROJECTION };

/** The document as `replyProjection` gives it; nothing in it can be trusted to have its type. */
interface Projected extends Readonly<Record<string, unknown>> {
  readonly now: Date;
  readonly queue: {
    readonly mine: readonly Place[];
    readonly length: number;
    readonly earliest: unknown;
    readonly own?: number;
  };
}

export function readReply(seats: Seats, document: StoredFields): Reply {
  const { now, kind, v, fence, wake, queue } = document as Projected;
  const nowMs = now.getTime();
  // The seats of another kind are not ours to judge.
  const shown = kind === seats.kind ? seats.readShown(document) : { leases: [] };
  const leases = shown.leases.filter(isLease);
  const { count = leases.length, earliest, limit } = shown;
  const expiries = [queue.earliest, earliest, ...leases.map(({ expiresAt }) => expiresAt)].filter(isDate);
  const sound =
    v === DOCUMENT_VERSION &&
    isKind(kind) &&
    Number.isSafeInteger(fence) &&
    Number.isSafeInteger(count) &&
    leases.length === shown.leases.length &&
    // A transition leaves nothing behind whose time is over, so this document did not go through one.
    leases.every(({ expiresAt }) => expiresAt.getTime() > nowMs);
  return {
    nowMs,
    kind: isKind(kind) ? kind : seats.kind,
    sound,
    fence: Number(fence),
    wake: readWake(wake),
    leases,
    seated: Number(count),
    limit: typeof limit === 'number' ? limit : undefined,
    places: queue.mine.filter(({ expiresAt }) => isDate(expiresAt)),
    waiters: queue.length,
    ownWaiters: queue.own,
    earliestMs: expiries.length === 0 ? null : Math.min(...expiries.map((date) => date.getTime())),
  };
}

/** Finds by id in what a reply shows: a reply about thousands of attempts is asked about each of them. */
class ById<T extends { readonly id: string }> {
  readonly #indexes = new WeakMap<readonly T[], ReadonlyMap<string, T>>();

  find(all: readonly T[], id: string): T | undefined {
    let index = this.#indexes.get(all);
    if (index === undefined) {
      // Of two with one id, the first counts.
      index = new Map([...all].reverse().map((one) => [one.id, one]));
      this.#indexes.set(all, index);
    }
    return index.get(id);
  }
}

const leasesById = new ById<Lease>();
const placesById = new ById<Place>();

/** An upgrade in progress is a place before the queue: granted when the lease has another token. */
export function fateOf(reply: Reply, id: string): Fate {
  // What a corrupt document shows is not believed.
  if (!reply.sound) return { type: 'absent' };
  const lease = leasesById.find(reply.leases, id);
  if (lease !== undefined && lease.expiresAt.getTime() > reply.nowMs) {
    const { expiresAt, upgrading } = lease;
    return upgrading === true
      ? { type: 'queued', place: { id, expiresAt, place: 0 } }
      : { type: 'granted', lease };
  }
  const place = placesById.find(reply.places, id);
  if (place !== undefined && place.expiresAt.getTime() > reply.nowMs) return { type: 'queued', place };
  return { type: 'absent' };
}

/** Why this request is in neither seats nor queue, from what the reply shows. */
export function refusalOf(reply: Reply, seats: Seats, type: 'enqueue' | 'try', request: Request): Refusal {
  if (!reply.sound) return 'corrupt';
  if (reply.kind !== seats.kind) return 'other-kind';
  if (reply.nowMs > request.notAfter.getTime()) return 'late';
  if (isOverLimit(reply, request)) return 'other-limit';
  const isHeld = reply.seated > 0;
  if (type === 'try') return isHeld ? 'busy' : 'unexplained';
  return isHeld && reply.seated + reply.waiters >= request.maxMembers ? 'full' : 'unexplained';
}

function isOverLimit({ limit }: Reply, request: Request): boolean {
  const { permits = 1, limit: wanted, mustMatch = false, setsLimit = false } = request;
  if (limit === undefined) return false;
  const most = setsLimit || mustMatch ? (wanted ?? limit) : limit;
  return permits > most || (mustMatch && limit !== wanted);
}

/** The server's time, in ms, of an update whose projection has it. */
export const timeOf = ({ now }: StoredFields): number | undefined =>
  now instanceof Date ? now.getTime() : undefined;

const isDate = (value: unknown): value is Date => value instanceof Date;

const isKind = (value: unknown): value is LockKind => LOCK_KINDS.some((kind) => kind === value);

export function isLease(value: unknown): value is Lease {
  if (typeof value !== 'object' || value === null) return false;
  const { id, process, token, leaseMs, transitionMs, acquiredAt, expiresAt } = value as Partial<
    Record<keyof Lease, unknown>
  >;
  return (
    typeof id === 'string' &&
    typeof process === 'string' &&
    Number.isSafeInteger(token) &&
    Number.isSafeInteger(leaseMs) &&
    (transitionMs === undefined || Number(transitionMs) >= 0) &&
    isDate(acquiredAt) &&
    isDate(expiresAt)
  );
}
