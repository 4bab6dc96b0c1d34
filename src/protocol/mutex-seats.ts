import {
  all,
  any,
  equal,
  hasType,
  idText,
  isIn,
  isLive,
  leaseFromNow,
  match,
  merge,
  typeOf,
  when,
} from './expressions.js';
import type { Expression } from './expressions.js';
import { MAX_LEASE_MS, MIN_LEASE_MS } from './lock-document.js';
import { ending } from './seats.js';
import type { Seats } from './seats.js';

const isFree: Expression = equal('$holder', null);

const holderIsOneOf = (ids: readonly string[]): Expression => isIn('$holder.id', ids.map(idText));

const holderIs = (id: string): Expression => equal('$holder.id', idText(id));

const wellFormedLease: Expression = all(
  match([
    [typeOf('$holder.id'), 'string'],
    [typeOf('$holder.process'), 'string'],
    [typeOf('$holder.token'), 'long'],
    [typeOf('$holder.acquiredAt'), 'date'],
    [typeOf('$holder.expiresAt'), 'date'],
    [typeOf('$holder.leaseMs'), 'int'],
  ]),
  { $gt: ['$holder.token', 0] },
  { $lte: ['$holder.token', '$fence'] },
  { $gte: ['$holder.leaseMs', MIN_LEASE_MS] },
  { $lte: ['$holder.leaseMs', MAX_LEASE_MS] },
);

/** One seat: `holder` is a lease or null, and the first waiter enters when it is null. */
export const mutexSeats: Seats = {
  kind: 'mutex',
  vacant: { holder: null },
  wellFormed: any(isFree, wellFormedLease),
  live: { holder: when(isLive('$was.holder.expiresAt'), '$was.holder', null) },
  stored: when(hasType('$holder', 'object'), ['$holder'], []),
  leasesIn: ({ holder }) => (holder === null ? [] : [holder]),
  leases: when(isFree, [], ['$holder']),
  count: when(isFree, 0, 1),
  isHeldBy: holderIs,
  tokenOf: (id) => when(holderIs(id), '$holder.token', 0),
  admissible: when(isFree, 1, 0),
  hasRoom: isFree,
  occupy: (leases) => ({ holder: { $ifNull: [{ $first: leases }, '$holder'] } }),
  vacate: (ids) => ({ holder: when(holderIsOneOf(ids), null, '$holder') }),
  extend: (ids) => ({
    holder: when(
      all(holderIsOneOf(ids), isLive('$holder.expiresAt'), { $ne: ['$holder.ending', true] }),
      merge('$holder', { expiresAt: leaseFromNow('$holder.expiresAt', '$holder.leaseMs') }),
      '$holder',
    ),
  }),
  markEnding: (ids, why) => ({
    holder: when(holderIsOneOf(ids), merge('$holder', ending(why)), '$holder'),
  }),
};
