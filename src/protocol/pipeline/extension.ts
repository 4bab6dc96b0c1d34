import { NOW, STORED_WAITERS, all, any, equal, isLive, merge, filter, when } from '../expressions.js';
import type { Expression, Fields, Stage } from '../expressions.js';
import type { Lease } from '../lock-document.js';
import { REVOKED_PROJECTION, isLease } from '../replies/reply.js';
import type { KindRules } from '../kind-rules.js';
import { isOneOf } from '../stored-lease.js';
import { purgeAfter } from './purging.js';
import { isWellFormed } from './verdict.js';

/**
 * The pipeline that extends the leases of one process in a batch of documents, each by its own stored `leaseMs`.
 *
 * The pipeline is no transition: it drops and admits nobody. It empties `wake`, because the server logs a small
 * document whole, and the change stream would show the words of the last update again. It raises `purgeAt` if the
 * document may be needed after the stored `purgeAt`. Corrupt documents stay as they are. No expression may fail on
 * them, because an error in one document would stop the batch.
 *
 * @param kinds - The seat rules of each kind of lock in the batch.
 * @param leaseMs - The longest lease that the requests of `ids` asked for.
 */
export function extension(
  kinds: readonly KindRules[],
  ids: readonly string[],
  leaseMs: number,
  retentionMs: number,
): readonly Stage[] {
  const common: Fields = {
    wake: '',
    purgeAt: purgeAfter(leaseMs + retentionMs, '$purgeAt', '$fence'),
  };
  const extended = kinds.reduce<Expression>(
    (otherwise, rules) => when(isWellFormed(rules), merge('$$ROOT', rules.extend(ids), common), otherwise),
    '$$ROOT',
  );
  return [{ $replaceWith: extended }];
}

export interface LeasesRead {
  readonly name: string;
  readonly nowMs: number;
  /** The live leases that `leasesProjection` shows, without malformed ones. */
  readonly leases: readonly Lease[];
  /** Whether this process must give back its kept seats of the lock; false if the projection has no `othersWait`. */
  readonly othersWait: boolean;
  /** The records of revocations, unchecked. `revocationOf` reads them. */
  readonly revoked: unknown;
}

export function readLeases(document: Readonly<Record<string, unknown>>): LeasesRead {
  const { _id, now, leases, othersWait, revoked } = document as {
    _id: string;
    now: Date;
    leases: readonly unknown[];
    othersWait?: boolean;
    revoked?: unknown;
  };
  const wellFormed = leases.filter(isLease);
  return { name: _id, nowMs: now.getTime(), leases: wellFormed, othersWait: othersWait === true, revoked };
}

/**
 * The fields of a lease with which a process computes. With `label`, `why` and `value`, thousands of leases could be
 * too large for one answer.
 */
const FIELDS_READ: readonly (keyof Lease)[] = [
  ...(['id', 'process', 'token', 'leaseMs', 'acquiredAt', 'expiresAt'] as const),
  ...(['mode', 'permits', 'transitionMs', 'ending', 'called'] as const),
];

const fieldsRead: Expression = Object.fromEntries(FIELDS_READ.map((field) => [field, `$$this.${field}`]));

/**
 * The projection of a read that shows the live leases of this process.
 *
 * @param ids - Show these leases only; `undefined`: all leases of the process.
 */
export const leasesProjection = (
  kinds: readonly KindRules[],
  process: string,
  ids?: readonly string[],
): Fields => ({
  now: NOW,
  ...REVOKED_PROJECTION,
  leases: {
    $map: {
      input: filter(
        { $concatArrays: kinds.map((rules) => rules.stored) },
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

/**
 * Like `leasesProjection`, for seats that may be kept. The read also shows `othersWait`: another process has a live
 * waiter, or the condition `endsKeeping` of the kind forbids to keep seats.
 */
export const keptLeasesProjection = (
  kinds: readonly KindRules[],
  process: string,
  ids?: readonly string[],
): Fields => ({
  ...leasesProjection(kinds, process, ids),
  othersWait: any(...kinds.flatMap(({ endsKeeping }) => endsKeeping ?? []), {
    $ne: [
      filter(STORED_WAITERS, all({ $ne: ['$$this.v.process', process] }, isLive('$$this.v.expiresAt'))),
      [],
    ],
  }),
});
