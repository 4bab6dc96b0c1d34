import { CLOCK_TOKEN, NOW, all, at, bind, indexesOf, isIn, not, filter } from '../expressions.js';
import type { Expression, Fields, Stage } from '../expressions.js';
import type { Operation } from '../operation.js';
import type { Seats } from '../seats.js';
import { granted, grantedOne, keepersTold } from '../wake.js';

const EVERYTHING = 2_147_483_647;

/** What a lease has from the waiter that it was. */
const TAKEN_OVER = ['process', 'label', 'why'] as const;

const mostKept = (path: string): Expression => ({ $ifNull: [{ $max: path }, 0] });

/** From the token of one to that of the next who enters in the same update: as many as the most that any reserves. */
const STRIDE: Expression = { $add: [mostKept('$entering.v.keeps'), 1] };

/** A time of the waiter as its lease has it. */
const lengthened = ({ lengthenedBy }: Seats, field: 'leaseMs' | 'expiresAt'): Expression => {
  const path = `$$this.v.${field}`;
  return lengthenedBy === null ? path : { $add: [path, `$$this.v.${lengthenedBy}`] };
};

/**
 * Gives free seats to the first in line, in order. A grant takes over the expiry that the waiter had and never
 * extends it: the grant of a dead waiter ends when its own last sign of life does (E5). The transition of an election
 * comes after that expiry, and is no part of what the leader counts on.
 */
export function admit(seats: Seats, requested: readonly string[]): readonly Stage[] {
  // Field by field, because a strict API version 1 has no `$unsetField`; what the waiter lacks, the lease does.
  const taken = [...TAKEN_OVER, ...(seats.mayKeep ? ['keeps'] : []), ...seats.ownFields].map(
    (field): [string, Expression] => [field, `$$this.v.${field}`],
  );
  const leaseAt = (index: readonly Expression[]): Expression => ({
    id: '$$this.k',
    ...Object.fromEntries(taken),
    leaseMs: lengthened(seats, 'leaseMs'),
    expiresAt: lengthened(seats, 'expiresAt'),
    token: { $add: [{ $max: ['$fence', CLOCK_TOKEN] }, ...index, 1] },
    acquiredAt: NOW,
  });
  // Whoever this very update has queued learns of its grant by the reply, or by the repeat of its request. One that was
  // queued before is named though its request is here: this may be a late copy, whose reply nobody awaits (E2).
  const isTold = all(isIn('$$this.k', requested), not(isIn('$$this.k', '$before.k')));
  const fromQueue: Expression = { $slice: ['$entering', seats.enteringFromQueue] };
  const told: Fields = requested.length === 0 ? {} : { told: filter(fromQueue, isTold) };
  const leases = seats.entersOne
    ? { $map: { input: '$entering', in: leaseAt([]) } }
    : inOrder(leaseAt([seats.mayKeep ? { $multiply: ['$$index', '$$stride'] } : '$$index']));
  const lastToken: Expression = { $last: '$granted.token' };
  const toName = requested.length === 0 ? '$granted' : filter('$granted', not(isIn('$$this.id', '$told.k')));
  return [
    { $set: { entering: seats.entering } },
    {
      $set: {
        granted: seats.mayKeep && !seats.entersOne ? bind({ stride: STRIDE }, leases) : leases,
        ...told,
      },
    },
    {
      $set: {
        fence: {
          $ifNull: [seats.mayKeep ? { $add: [lastToken, mostKept('$granted.keeps')] } : lastToken, '$fence'],
        },
        ...seats.occupy('$granted'),
        queue: seats.mayOvertake
          ? filter('$queue', not(isIn('$$this.k', '$granted.id')))
          : { $slice: ['$queue', seats.enteringFromQueue, EVERYTHING] },
        wake: seats.entersOne ? grantedOne(toName) : granted(toName),
      },
    },
  ];
}

/** The lease of each who enters, with its index: thousands may enter at once, so none of them is searched for. */
const inOrder = (lease: Expression): Expression => ({
  $map: {
    input: indexesOf('$entering'),
    as: 'index',
    in: bind({ this: at('$entering', '$$index') }, lease),
  },
});

/** Whoever is not let in tells those who keep their seats between their callers: they give up what they do not use. */
export function tellKeepers(seats: Seats, operation: Operation): readonly Stage[] {
  if (!seats.mayKeep || !('request' in operation)) return [];
  const { id, process, notAfter } = operation.request;
  const isShutOut = all(not(seats.isHeldBy(id)), { $lte: [NOW, notAfter] });
  return [{ $set: { wake: keepersTold(seats.leases, isShutOut, process) } }];
}
