// Folder `kinds`: the differences between the kinds of locks, one `KindRules` object for each kind.

import { isIn, typeOf, when } from '../expressions.js';
import { leaseSlot } from './lease-slot.js';
import type { KindRules } from '../kind-rules.js';

const holder = leaseSlot('holder');

/** One seat: `holder` is a lease or null. When `holder` is null, the first waiter enters. */
export const mutexRules: KindRules = {
  kind: 'mutex',
  keeping: 'passed',
  endsKeeping: null,
  entersOne: true,
  mayOvertake: false,
  ownFields: [],
  lengthenedBy: null,
  vacant: () => ({ holder: null }),
  wellFormed: holder.wellFormed,
  isWaiter: [],
  live: { holder: holder.live },
  derived: {},
  stored: holder.stored,
  leasesIn: (document) => (document['holder'] === null ? [] : [document['holder']]),
  shown: () => ({ holder: 1 }),
  readShown: (document) => ({ leases: mutexRules.leasesIn(document) }),
  leases: holder.leases,
  count: holder.count,
  isHeldBy: (id) => holder.has(id),
  tokenOf: (id) => holder.tokenOf(id),
  entering: { $slice: ['$queue', when(holder.isEmpty, 1, 0)] },
  enteringFromQueue: { $size: '$entering' },
  hasToWait: () => null,
  conditions: () => [],
  requestFields: () => ({}),
  beforeQueued: () => [],
  hasRoomFor: () => holder.isEmpty,
  occupy: (leases) => ({ holder: { $ifNull: [{ $first: leases }, '$holder'] } }),
  vacate: (id) => ({ holder: holder.without([id]) }),
  evict: (ids) => ({ holder: holder.without(ids) }),
  extend: (ids) => ({ holder: holder.extended(ids) }),
  markEnding: (ids, why) => ({ holder: holder.markedEnding(ids, why) }),
  uncontended: {
    // The type is compared, not the value: `match` puts the values into an array, where a missing field becomes null. A
    // lock without the field is corrupt, and a corrupt lock is never free (E26).
    vacant: [[typeOf('$holder'), 'null']],
    conditions: () => [],
    taken: (lease) => ({ holder: lease }),
    fields: { holder: 1 },
    heldByOneOf: (ids) => isIn('$holder.id', ids),
    id: '$holder.id',
    token: '$holder.token',
    expiresAt: '$holder.expiresAt',
    vacated: { holder: null },
  },
  own: () => [],
};
