import { NOW, all, any, equal, hasType, idText, isIn, literal, not, filter, when } from '../expressions.js';
import type { Expression, Stage } from '../expressions.js';
import { call } from '../jobs/job-calls.js';
import { claim, conclude, hasSoundJobs } from '../jobs/job-claims.js';
import { leaseSlot } from './lease-slot.js';
import { MAX_LEASE_MS } from '../lock-document.js';
import { mutexSeats } from './mutex-seats.js';
import type { HandOver } from '../operation.js';
import type { Seats } from '../seats.js';
import { left } from '../wake.js';

const holder = leaseSlot('holder');

/** Whether a lease or a waiter has what elections compute with, and what they tell. */
const isCandidate = (at: string): Expression =>
  all(
    hasType(`${at}.candidateId`, 'string'),
    hasType(`${at}.value`, 'string'),
    hasType(`${at}.transitionMs`, 'int'),
    { $gte: [`${at}.transitionMs`, 0] },
    { $lte: [`${at}.transitionMs`, MAX_LEASE_MS] },
  );

/** A grant would otherwise make a lease that is longer than any may be, and the document corrupt. */
const hasRoomForTransition: Expression = {
  $lte: [{ $add: ['$$this.v.leaseMs', '$$this.v.transitionMs'] }, MAX_LEASE_MS],
};

/** The leader has been silent for its lease, and nobody has asked it to go: it alone may return. */
const isInTransition: Expression = all(
  { $lte: [{ $subtract: ['$holder.expiresAt', '$holder.transitionMs'] }, NOW] },
  { $ne: ['$holder.ending', true] },
);

const standingAs = (candidateId: Expression): Expression =>
  filter('$queue', equal('$$this.v.candidateId', candidateId));

/**
 * The seat of a mutex, whose stored lease ends with a transition: for so long after the term's own deadline only the
 * candidate who had it may enter, before all who wait, and for a new term. A waiter has the lease alone, so that a
 * dead one lapses when its last sign of life does; the grant adds the transition.
 */
export const electionSeats: Seats = {
  ...mutexSeats,
  kind: 'election',
  mayKeep: false,
  mayOvertake: true,
  ownFields: ['candidateId', 'value', 'transitionMs'],
  lengthenedBy: 'transitionMs',
  wellFormed: all(any(holder.isEmpty, all(holder.wellFormed, isCandidate('$holder'))), hasSoundJobs),
  isWaiter: [isCandidate('$$this.v'), hasRoomForTransition],
  entering: {
    $slice: [when(holder.isEmpty, '$queue', when(isInTransition, standingAs('$holder.candidateId'), [])), 1],
  },
  demanded: ({ candidateId = '', value = '', transitionMs = 0 }) => ({
    candidateId: literal(candidateId),
    value: literal(value),
    transitionMs,
  }),
  alone: { ...mutexSeats.alone, conditions: () => [hasSoundJobs] },
  own: (operation) => {
    switch (operation.type) {
      case 'handOver':
        return handOver(operation);
      case 'claim':
        return claim(operation);
      case 'conclude':
        return conclude(operation);
      case 'call':
        return call(operation);
      case 'exchange':
      case 'resize':
        return [];
    }
  },
};

/** The named one goes before all others, and the seat is left: the admission that follows lets it in. */
function handOver({ id, candidateId }: HandOver): readonly Stage[] {
  const isHanded: Expression = all(equal('$holder.id', idText(id)), { $ne: ['$named', []] });
  return [
    { $set: { named: { $slice: [standingAs(literal(candidateId)), 1] } } },
    {
      $set: {
        holder: when(isHanded, null, '$holder'),
        queue: when(
          isHanded,
          { $concatArrays: ['$named', filter('$queue', not(isIn('$$this.k', '$named.k')))] },
          '$queue',
        ),
        wake: left(id, when(isHanded, '$holder.token', 0)),
      },
    },
  ];
}
