import { NOW, all, at, bind, indexesOf, isIn, nextToken, not, filter } from '../expressions.js';
import type { Expression, Fields, Stage } from '../expressions.js';
import type { Operation } from '../operation.js';
import type { KindRules } from '../kind-rules.js';
import { granted, grantedOne, keeperTold, keepersTold } from '../wake.js';

/** The greatest count that `$slice` accepts. With this count, `$slice` returns all elements from a position on. */
const EVERYTHING = 2_147_483_647;

/** The fields that a lease takes over from its waiter, in every kind of lock. */
const TAKEN_OVER = ['process', 'label', 'why'] as const;

export interface AdmissionOptions {
  /**
   * Whether leases also take over the `traceparent` of their waiters, and departures put it into `wake`. Only an
   * instrumented process asks for that, because it makes each update longer.
   */
  readonly keepsTraces?: boolean;
}

const mostKept = (path: string): Expression => ({ $ifNull: [{ $max: path }, 0] });

/**
 * The distance between the tokens of two attempts that enter by the same admission, one directly after the other. The
 * attempt that reserves the most tokens decides the distance.
 */
const STRIDE: Expression = { $add: [mostKept('$entering.v.keeps'), 1] };

const lengthened = ({ lengthenedBy }: KindRules, field: 'leaseMs' | 'expiresAt'): Expression => {
  const path = `$$this.v.${field}`;
  return lengthenedBy === null ? path : { $add: [path, `$$this.v.${lengthenedBy}`] };
};

/**
 * Gives seats to the attempts that may enter now (`KindRules.entering`), in their order. A grant keeps the expiry of
 * the waiter: a dead waiter sends no look, so its grant ends when its place would have lapsed (E5). In an election a
 * grant lasts longer by `transitionMs`; the leader does not rely on that time.
 */
export function admit(
  rules: KindRules,
  requested: readonly string[],
  { keepsTraces = false }: AdmissionOptions = {},
): readonly Stage[] {
  const reserves = rules.keeping === 'passed';
  // The lease is made field by field, and not with `$unsetField`: some servers refuse that operator to a client that is
  // strict about version 1 of the Stable API. A field that the waiter lacks is not in the lease.
  const taken = [
    ...TAKEN_OVER,
    ...(keepsTraces ? ['traceparent'] : []),
    ...(reserves ? ['keeps'] : []),
    ...rules.ownFields,
  ].map((field): [string, Expression] => [field, `$$this.v.${field}`]);
  const leaseAt = (index: readonly Expression[]): Expression => ({
    id: '$$this.k',
    ...Object.fromEntries(taken),
    leaseMs: lengthened(rules, 'leaseMs'),
    expiresAt: lengthened(rules, 'expiresAt'),
    token: nextToken(...index),
    acquiredAt: NOW,
  });
  // `wake` names every attempt that enters, except those that this very update has queued: these learn of their grant
  // from the reply. An attempt that was queued before is named although its request is in this update: that request may
  // be a late copy, whose reply no caller awaits (E2).
  const learnsFromReply = all(isIn('$$this.k', requested), not(isIn('$$this.k', '$before.k')));
  const fromQueue: Expression = { $slice: ['$entering', rules.enteringFromQueue] };
  const learning: Fields = requested.length === 0 ? {} : { learning: filter(fromQueue, learnsFromReply) };
  const leases = rules.entersOne
    ? { $map: { input: '$entering', in: leaseAt([]) } }
    : inOrder(leaseAt([reserves ? { $multiply: ['$$index', '$$stride'] } : '$$index']));
  const lastToken: Expression = { $last: '$granted.token' };
  const toName =
    requested.length === 0 ? '$granted' : filter('$granted', not(isIn('$$this.id', '$learning.k')));
  return [
    { $set: { entering: rules.entering } },
    {
      $set: {
        granted: reserves && !rules.entersOne ? bind({ stride: STRIDE }, leases) : leases,
        ...learning,
      },
    },
    {
      $set: {
        fence: {
          $ifNull: [reserves ? { $add: [lastToken, mostKept('$granted.keeps')] } : lastToken, '$fence'],
        },
        ...rules.occupy('$granted'),
        queue: rules.mayOvertake
          ? filter('$queue', not(isIn('$$this.k', '$granted.id')))
          : { $slice: ['$queue', rules.enteringFromQueue, EVERYTHING] },
        wake: rules.entersOne ? grantedOne(toName) : granted(toName),
      },
    },
  ];
}

/**
 * The lease of each attempt that enters. The map runs over the indexes, because the token depends on the index: finding
 * the index of each attempt by a search would take quadratic time.
 */
const inOrder = (lease: Expression): Expression => ({
  $map: {
    input: indexesOf('$entering'),
    as: 'index',
    in: bind({ this: at('$entering', '$$index') }, lease),
  },
});

/**
 * Names the keepers in `wake` if a request or an upgrade was not granted, so that they give their kept seats back. A
 * request that comes after its not-after names nobody. The process of a request is not named, because it knows of its
 * request. The process of an upgrade is named if it keeps a read, and it learns of that word from the reply.
 */
export function tellKeepers(rules: KindRules, operation: Operation): readonly Stage[] {
  if (rules.keeping === 'never') return [];
  const told = rules.entersOne ? keeperTold : keepersTold;
  if ('request' in operation) {
    const { id, process, notAfter } = operation.request;
    const hasToWait = all(not(rules.isHeldBy(id)), { $lte: [NOW, notAfter] });
    return [{ $set: { wake: told(rules.leases, hasToWait, process) } }];
  }
  const hasToWait = operation.type === 'exchange' ? rules.hasToWait(operation) : null;
  return hasToWait === null ? [] : [{ $set: { wake: told(rules.leases, hasToWait) } }];
}
