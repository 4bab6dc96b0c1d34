// Folder `replies`: reads the replies to transitions, and whole documents for operators and dashboards.

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
import type { KindRules, StoredFields } from '../kind-rules.js';
import { readWake } from '../wake.js';

export interface Place {
  readonly id: string;
  readonly expiresAt: Date;
  /** 0 for the head. */
  readonly place: number;
}

/** The document after a transition, as far as it concerns this process. All times are by the server's clock. */
export interface Reply {
  readonly nowMs: number;
  readonly kind: LockKind;
  /** False: the reply itself (`readReply`) or the server's verdict (`judged`) shows that the document is corrupt. */
  readonly isWellFormed: boolean;
  readonly fence: number;
  readonly wake: readonly string[];
  /**
   * The leases of the attempts that the projection names, and some of the other leases: a lock may have thousands.
   * Empty if the document is of another kind than the seat rules.
   */
  readonly leases: readonly Lease[];
  readonly leaseCount: number;
  /** Semaphore only. */
  readonly limit: number | undefined;
  /** The places of the attempts that the projection names, in the order of the queue. */
  readonly places: readonly Place[];
  readonly waiters: number;
  /** The number of waiters of this process; `undefined` if the projection did not count them. */
  readonly ownWaiters: number | undefined;
  /** Whether a writer waits, in the queue or by an upgrade. Reader-writer lock only; false for other kinds. */
  readonly isWriterWaiting: boolean;
  /** The earliest expiry of all leases, and of the waiters before the first of `places`; `null` if there are none. */
  readonly earliestExpiryMs: number | null;
}

export type Fate =
  | { readonly type: 'granted'; readonly lease: Lease }
  | { readonly type: 'queued'; readonly place: Place }
  | { readonly type: 'absent' };

/**
 * Why a request was neither admitted nor queued. `unexplained`: the reply shows no reason, because another operation of
 * the same update, or the admission of another attempt, has removed the reason.
 */
export type Refusal = 'busy' | 'late' | 'full' | 'other-kind' | 'other-limit' | 'corrupt' | 'unexplained';

/**
 * The projection of the reply to a transition for these attempts. Other waiters are not shown: a queue may have
 * thousands. The common case of one attempt costs least.
 *
 * @param counted - The id of the process whose waiters are counted: a keeper has to know whether other processes wait.
 */
export function replyProjection(rules: KindRules, ids: readonly string[], counted?: string): Fields {
  const [id] = ids;
  // Only an id of this library's own form may be part of a field path. The server could misread any other id (E25).
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
    ...rules.shown(ids),
    queue: bind({ waiters: STORED_WAITERS }, bind({ mine }, queue)),
  };
}

const placeOf = (id: string): Expression => ({
  id,
  expiresAt: `$queue.${id}.expiresAt`,
  place: { $indexOfArray: ['$$waiters.k', id] },
});

/** The places of these attempts. The server does not search the queue again for each attempt. */
function placesOf(ids: readonly string[]): Expression {
  // A field name has no null byte, so an id with a null byte is in no queue.
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

/** The records of revocations: they tell a process why a lease is gone or ending. */
export const REVOKED_PROJECTION: Fields = { revoked: 1 };

/** The projection for an update that has only leaves: `wake` tells what each of them gave back. */
export const LEAVE_PROJECTION: Fields = { _id: 0, wake: 1, now: NOW, ...REVOKED_PROJECTION };

/** The document as `replyProjection` shows it. A field that is not declared here may have any type. */
interface Projected extends Readonly<Record<string, unknown>> {
  readonly now: Date;
  readonly queue: {
    readonly mine: readonly Place[];
    readonly length: number;
    readonly earliest: unknown;
    readonly own?: number;
  };
}

export function readReply(rules: KindRules, document: StoredFields): Reply {
  const { now, kind, v, fence, wake, queue } = document as Projected;
  const nowMs = now.getTime();
  // These seat rules cannot read the leases of another kind of lock.
  const shown = kind === rules.kind ? rules.readShown(document) : { leases: [] };
  const leases = shown.leases.filter(isLease);
  const { count = leases.length, earliest, limit, writerWaiting } = shown;
  const expiries = [queue.earliest, earliest, ...leases.map(({ expiresAt }) => expiresAt)].filter(isDate);
  const isWellFormed =
    v === DOCUMENT_VERSION &&
    isKind(kind) &&
    Number.isSafeInteger(fence) &&
    Number.isSafeInteger(count) &&
    leases.length === shown.leases.length &&
    // A transition drops all expired leases. If one is left, the document is corrupt, and was left as it was.
    leases.every(({ expiresAt }) => expiresAt.getTime() > nowMs);
  return {
    nowMs,
    kind: isKind(kind) ? kind : rules.kind,
    isWellFormed,
    fence: Number(fence),
    wake: readWake(wake),
    leases,
    leaseCount: Number(count),
    limit: typeof limit === 'number' ? limit : undefined,
    places: queue.mine.filter(({ expiresAt }) => isDate(expiresAt)),
    waiters: queue.length,
    ownWaiters: queue.own,
    isWriterWaiting: writerWaiting === true,
    earliestExpiryMs: expiries.length === 0 ? null : Math.min(...expiries.map((date) => date.getTime())),
  };
}

/**
 * Finds the leases and places of a reply by id. Each list gets an index, because a reply may concern thousands of
 * attempts.
 */
class ById<T extends { readonly id: string }> {
  readonly #indexes = new WeakMap<readonly T[], ReadonlyMap<string, T>>();

  find(all: readonly T[], id: string): T | undefined {
    let index = this.#indexes.get(all);
    if (index === undefined) {
      // If two elements have the same id, the first one counts.
      index = new Map([...all].reverse().map((one) => [one.id, one]));
      this.#indexes.set(all, index);
    }
    return index.get(id);
  }
}

const leasesById = new ById<Lease>();
const placesById = new ById<Place>();

/** The state of this attempt in the reply. An upgrade that waits counts as queued at place 0. */
export function fateOf(reply: Reply, id: string): Fate {
  if (!reply.isWellFormed) return { type: 'absent' };
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

export function refusalOf(
  reply: Reply,
  rules: KindRules,
  type: 'enqueue' | 'try',
  request: Request,
): Refusal {
  if (!reply.isWellFormed) return 'corrupt';
  if (reply.kind !== rules.kind) return 'other-kind';
  if (reply.nowMs > request.notAfter.getTime()) return 'late';
  if (isOverLimit(reply, request)) return 'other-limit';
  const isHeld = reply.leaseCount > 0;
  if (type === 'try') return isHeld ? 'busy' : 'unexplained';
  return isHeld && reply.leaseCount + reply.waiters >= request.maxMembers ? 'full' : 'unexplained';
}

function isOverLimit({ limit }: Reply, request: Request): boolean {
  const { permits = 1, limit: wanted, mustMatch = false, setsLimit = false } = request;
  if (limit === undefined) return false;
  const most = setsLimit || mustMatch ? (wanted ?? limit) : limit;
  return permits > most || (mustMatch && limit !== wanted);
}

/** The server's time of an update or a read, in ms; `undefined` if the projection does not have it. */
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
