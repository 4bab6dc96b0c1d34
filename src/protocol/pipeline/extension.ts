import { NOW, STORED_WAITERS, all, any, bind, equal, isLive, merge, filter, when } from '../expressions.js';
import type { Expression, Fields, Stage } from '../expressions.js';
import type { Lease } from '../lock-document.js';
import { REVOKED_PROJECTION, isLease } from '../replies/reply.js';
import type { Seats } from '../seats.js';
import { isOneOf } from '../stored-lease.js';
import { purgeAfter } from './purging.js';
import { isWellFormed } from './transition.js';

/**
 * The pipeline that extends one process's leases in a whole batch of documents, each by its own stored lease.
 *
 * It is no transition: it expires and admits nobody. It empties `wake`, because small documents are logged whole and
 * the last wake-up would be seen again, and raises `purgeAt`, because a hold may outlast it. Malformed documents stay
 * as they are: an expression that failed on one would stop the batch.
 *
 * @param kinds - The seats of every kind of lock in the batch.
 * @param leaseMs - The longest lease among `ids`.
 */
export function extension(
  kinds: readonly Seats[],
  ids: readonly string[],
  leaseMs: number,
  retentionMs: number,
): readonly Stage[] {
  const common: Fields = {
    wake: '',
    purgeAt: purgeAfter(leaseMs + retentionMs, '$purgeAt', '$fence'),
  };
  const extended = kinds.reduce<Expression>(
    (otherwise, seats) => when(isWellFormed(seats), merge('$$ROOT', seats.extend(ids), common), otherwise),
    '$$ROOT',
  );
  return [{ $replaceWith: extended }];
}

/** What a read tells of one document. */
export interface LeasesRead {
  readonly name: string;
  readonly nowMs: number;
  /** Those of this process, live and well-formed ones only. */
  readonly leases: readonly Lease[];
  /** Whether other processes wait, if that was asked for. */
  readonly othersWait: boolean;
  /** The records of revocations, unchecked: for `revocationOf`. */
  readonly revoked: unknown;
}

/** What a poll tells of one document. */
export interface Poll extends LeasesRead {
  /** The attempts of this process in the queue, in their order. */
  readonly waiting: readonly string[];
  /** Of the first of them, 0 for the head; -1 if there is none. */
  readonly place: number;
  /** All waiters, also those of other processes. */
  readonly waiters: number;
  /** See `readMark`. */
  readonly mark: string;
}

export function readLeases(document: Readonly<Record<string, unknown>>): LeasesRead {
  const { _id, now, leases, othersWait, revoked } = document as {
    _id: string;
    now: Date;
    leases: readonly unknown[];
    othersWait?: boolean;
    revoked?: unknown;
  };
  const mine = leases.filter(isLease);
  return { name: _id, nowMs: now.getTime(), leases: mine, othersWait: othersWait === true, revoked };
}

export function readPoll(document: Readonly<Record<string, unknown>>): Poll {
  const { queue } = document as { queue: Pick<Poll, 'waiting' | 'place' | 'waiters'> };
  return { ...readLeases(document), ...queue, mark: readMark(document) };
}

/** What is another one after every grant, and after whatever takes a waiter out of the queue against its will. */
export const readMark = ({ fence, limit }: Readonly<Record<string, unknown>>): string =>
  `${String(fence)} ${String(limit)}`;

/** Whether each of the documents is a legal one, of any of these kinds. */
export const legalProjection = (...kinds: readonly Seats[]): Fields => ({
  legal: any(...kinds.map((seats) => isWellFormed(seats))),
});

/** What a process computes with. The texts of a lease are left out: thousands of them would not fit into one answer. */
const FIELDS_READ: readonly (keyof Lease)[] = [
  ...(['id', 'process', 'token', 'leaseMs', 'acquiredAt', 'expiresAt'] as const),
  ...(['mode', 'permits', 'transitionMs', 'ending', 'called'] as const),
];

const fieldsRead: Expression = Object.fromEntries(FIELDS_READ.map((field) => [field, `$$this.${field}`]));

/**
 * The projection of a read that tells which leases are still this process's, and live.
 *
 * @param ids - Those that were extended, and no others are shown; `undefined`: all of the process.
 */
export const leasesProjection = (
  kinds: readonly Seats[],
  process: string,
  ids?: readonly string[],
): Fields => ({
  now: NOW,
  ...REVOKED_PROJECTION,
  leases: {
    $map: {
      input: filter(
        { $concatArrays: kinds.map((seats) => seats.stored) },
        all(
          equal('$$this.process', process),
          isLive('$$this.expiresAt'),
          ...(ids === undefined ? [] : [isOneOf('$$this', ids)]),
        ),
      ),
      in: fieldsRead,
    },
  },
});

/** The same for leases that may be kept: also whether a waiter of another process is behind them. */
export const keptLeasesProjection = (
  kinds: readonly Seats[],
  process: string,
  ids?: readonly string[],
): Fields => ({
  ...leasesProjection(kinds, process, ids),
  othersWait: {
    $ne: [
      filter(STORED_WAITERS, all({ $ne: ['$$this.v.process', process] }, isLive('$$this.v.expiresAt'))),
      [],
    ],
  },
});

/** The projection of a mark: plain fields, which cost the server half of what a poll of a hundred waiters does. */
export const MARK_PROJECTION: Fields = { fence: 1, limit: 1 };

/** The projection of a poll: also which of this process's attempts wait, and where the first of them stands. */
export const pollProjection = (kinds: readonly Seats[], process: string): Fields => ({
  ...leasesProjection(kinds, process),
  ...MARK_PROJECTION,
  queue: bind(
    { all: STORED_WAITERS },
    {
      waiting: { $map: { input: filter('$$all', equal('$$this.v.process', process)), in: '$$this.k' } },
      place: { $indexOfArray: ['$$all.v.process', process] },
      waiters: { $size: '$$all' },
    },
  ),
});
