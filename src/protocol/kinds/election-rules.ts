import { all, any, equal, hasType, idText, isIn, literal, not, filter, when } from '../expressions.js';
import type { Expression, Stage } from '../expressions.js';
import { call } from '../jobs/job-calls.js';
import { claim, claimWithoutTerm, conclude, hasWellFormedJobs } from '../jobs/job-claims.js';
import { leaseSlot } from './lease-slot.js';
import { MAX_LEASE_MS } from '../lock-document.js';
import { mutexRules } from './mutex-rules.js';
import type { HandOver } from '../operation.js';
import type { KindRules } from '../kind-rules.js';
import { isTermOver } from '../stored-lease.js';
import { departed } from '../wake.js';

const holder = leaseSlot('holder');

/** Whether a lease or a waiter has the fields that elections compute with and publish. */
const isCandidate = (at: string): Expression =>
  all(
    hasType(`${at}.candidateId`, 'string'),
    hasType(`${at}.value`, 'string'),
    hasType(`${at}.transitionMs`, 'int'),
    { $gte: [`${at}.transitionMs`, 0] },
    { $lte: [`${at}.transitionMs`, MAX_LEASE_MS] },
  );

/** Whether the lease that this waiter would get is at most `MAX_LEASE_MS` long. A longer lease is never well-formed. */
const hasRoomForTransition: Expression = {
  $lte: [{ $add: ['$$this.leaseMs', '$$this.transitionMs'] }, MAX_LEASE_MS],
};

/**
 * Whether this is the transition of the election: the leader has not extended its lease in time, and was not asked to
 * release. Only the candidate of that lease may enter.
 */
const isInTransition: Expression = all(isTermOver('$holder'), { $ne: ['$holder.ending', true] });

const standingAs = (candidateId: Expression): Expression =>
  filter('$queue', equal('$$this.v.candidateId', candidateId));

/**
 * One seat, as in a mutex. The grant adds `transitionMs` to the lease, for the transition of the election. During the
 * transition only a waiter with the `candidateId` of the leader may enter: that waiter jumps the queue and gets a new
 * term. A waiter's `expiresAt` does not include `transitionMs`, so the place of a dead waiter lapses one `leaseMs`
 * after its last look.
 */
export const electionRules: KindRules = {
  ...mutexRules,
  kind: 'election',
  keeping: 'never',
  mayOvertake: true,
  ownFields: ['candidateId', 'value', 'transitionMs'],
  lengthenedBy: 'transitionMs',
  wellFormed: all(any(holder.isEmpty, all(holder.wellFormed, isCandidate('$holder'))), hasWellFormedJobs),
  isWaiter: [isCandidate('$$this'), hasRoomForTransition],
  entering: {
    $slice: [when(holder.isEmpty, '$queue', when(isInTransition, standingAs('$holder.candidateId'), [])), 1],
  },
  // A term that is over is not extended, even while its lease is live. So once a claim was answered with `deposed`, no
  // copy of that claim can be applied.
  extend: (ids) => ({ holder: when(isTermOver('$holder'), '$holder', holder.extended(ids)) }),
  requestFields: ({ candidateId = '', value = '', transitionMs = 0 }) => ({
    candidateId: literal(candidateId),
    value: literal(value),
    transitionMs,
  }),
  uncontended: { ...mutexRules.uncontended, conditions: () => [hasWellFormedJobs] },
  own: (operation) => {
    switch (operation.type) {
      case 'handOver':
        return handOver(operation);
      case 'claim':
        return claim(operation);
      case 'claimWithoutTerm':
        return claimWithoutTerm(operation);
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

/**
 * Puts the candidate's waiter at the head of the queue and empties the seat. The admission that follows gives the seat
 * to that waiter. If the attempt does not lead, or the candidate does not wait, only `wake` changes.
 */
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
        wake: departed(id, when(isHanded, '$holder.token', 0)),
      },
    },
  ];
}
