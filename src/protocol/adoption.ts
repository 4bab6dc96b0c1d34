import {
  EMPTY_OBJECT,
  STORED_WAITERS,
  all,
  bind,
  equal,
  hasType,
  isIn,
  isLive,
  merge,
  not,
  those,
  when,
} from './expressions.js';
import type { Expression, Stage } from './expressions.js';
import { DOCUMENT_VERSION, LOCK_KINDS } from './lock-document.js';
import type { Seats } from './seats.js';

const SEAT_FIELDS = ['holder', 'readers', 'writer', 'writerWaiting', 'holders', 'limit'] as const;

const arrayOrNone = (field: string): Expression => when(hasType(field, 'array'), field, []);

/** The leases and waiters of a document of any kind. */
const MEMBERS: Expression = {
  $concatArrays: [
    ['$holder', '$writer'],
    arrayOrNone('$readers'),
    arrayOrNone('$holders'),
    bind({ waiters: STORED_WAITERS }, { $ifNull: ['$$waiters.v', []] }),
  ],
};

/** Whether nothing in the document is live. What has no readable expiry counts as live: corrupt is never free (E26). */
const isIdle: Expression = equal(
  those(
    MEMBERS,
    all(
      { $ne: ['$$this', null] },
      not(all(hasType('$$this.expiresAt', 'date'), not(isLive('$$this.expiresAt')))),
    ),
  ),
  [],
);

/** Makes an idle lock of another kind a vacant one of this kind. Its fence stays, so its tokens go on rising (S3). */
export function adopt(seats: Seats): Stage {
  const otherKinds = LOCK_KINDS.filter((kind) => kind !== seats.kind);
  const rest = {
    $arrayToObject: those({ $objectToArray: '$$ROOT' }, not(isIn('$$this.k', SEAT_FIELDS))),
  };
  const adopted = merge(rest, { kind: seats.kind, ...seats.vacant, queue: EMPTY_OBJECT });
  const mayAdopt = all(isIn('$kind', otherKinds), equal('$v', DOCUMENT_VERSION), isIdle);
  return { $replaceWith: when(mayAdopt, adopted, '$$ROOT') };
}
