import {
  NOW,
  all,
  any,
  equal,
  hasType,
  literal,
  match,
  merge,
  not,
  filter,
  typeOf,
  when,
} from '../expressions.js';
import type { Expression, Stage } from '../expressions.js';
import { isOfJob, isWellFormedList, ownEntry, storedList, withEntry } from './job-list.js';
import { MAX_JOBS } from '../lock-document.js';
import type { Call } from '../operation.js';
import { answered, holdersTold } from '../wake.js';

/**
 * The last call of a job: an entry of the list `calls`.
 *
 * Calls are numbered. The number tells a process whether its call was claimed, and keeps a repeat from adding a call.
 * A call is pending until a claim takes it, or until `until` has passed by the server's clock. While a call is
 * pending, a new call only prolongs the pending one.
 *
 * Calls are stored apart from the claims, because a job may be called before its first claim. Older releases of the
 * library would find such a document corrupt if the call were in `claims`: they expect an instant in every claim.
 */
export interface StoredCall {
  readonly job: string;
  /** The number of the last call. */
  readonly asked: number;
  /** The number of the last call that a claim has taken. */
  readonly claimed: number;
  /** The server time until which the last call may be claimed. */
  readonly until: Date;
}

const IS_CALL: Expression = all(
  match([
    [typeOf('$$this.job'), 'string'],
    [typeOf('$$this.asked'), 'int'],
    [typeOf('$$this.claimed'), 'int'],
    [typeOf('$$this.until'), 'date'],
  ]),
  { $gte: ['$$this.claimed', 0] },
  { $gte: ['$$this.asked', '$$this.claimed'] },
);

export const hasWellFormedCalls: Expression = isWellFormedList('calls', IS_CALL);

const isPending = (at: string): Expression =>
  all({ $gt: [`${at}.asked`, `${at}.claimed`] }, { $gt: [`${at}.until`, NOW] });

/** Whether this call is pending. A document that may not be changed (`$ok`) counts as one without a pending call. */
export const isCallPending = (job: string, call: number): Expression =>
  not(
    equal(
      filter(
        when('$ok', storedList('calls'), []),
        all(isOfJob(job), equal('$$this.asked', call), isPending('$$this')),
      ),
      [],
    ),
  );

export const withCallClaimed = (job: string, call: number): Expression => ({
  $map: {
    input: storedList('calls'),
    in: when(isOfJob(job), merge('$$this', { claimed: call }), '$$this'),
  },
});

const CALLS: Expression = when(hasType('$calls', 'array'), '$calls', []);

export const PENDING_CALLS: Expression = filter(CALLS, isPending('$$this'));

/** The projection of the entry of one job: an array with one element or none. */
export const callsOf = (job: string): Expression => filter(CALLS, isOfJob(job));

/**
 * The answer of {@link call} to the first call of a job, if `calls` has the entries of `MAX_JOBS` other jobs already.
 */
export const CALLS_FULL = 'full';

/**
 * The answer of {@link call} to a call that arrives after its `until`, if `since` is still the number of the last call.
 * Otherwise the answer has the numbers of the last call and of the last claimed call.
 */
export const CALL_LATE = 'late';

export function readCallNumbers(answer: string): { readonly asked: number; readonly claimed: number } {
  const [asked, claimed] = answer.split('/');
  return { asked: Number(asked), claimed: Number(claimed) };
}

/**
 * Asks for a run. If `since` is `null`, only asks for the numbers of the last call and of the last claimed call. If a
 * call is pending already, no call is added, and the stored `until` rises to the `until` of this operation if that is
 * later. A call that arrives after its `until` neither adds nor prolongs a call.
 *
 * The word in `wake` tells the leader at once. If the leader misses the word, the read after its next extension shows
 * the nonce in the lease.
 */
export function call({ job, since, until, nonce }: Call): readonly Stage[] {
  const number = (field: string): Expression => ({ $ifNull: [{ $first: `$own.${field}` }, 0] });
  const answer: Expression = { $concat: [{ $toString: '$asked' }, '/', { $toString: number('claimed') }] };
  const own: Stage = { $set: { own: ownEntry('calls', job) } };
  if (since === null)
    return [own, { $set: { asked: number('asked') } }, { $set: { wake: answered(nonce, answer) } }];
  const entry: Expression = {
    job: literal(job),
    asked: '$asked',
    claimed: number('claimed'),
    until: { $max: [{ $first: '$own.until' }, until] },
  };
  const isFull = all(equal('$own', []), { $gte: [{ $size: storedList('calls') }, MAX_JOBS] });
  const isLate = all(equal(number('asked'), since), { $gte: [NOW, until] });
  const marked = merge('$holder', { called: literal(nonce) });
  const holder: Expression = when(all('$isStored', not(equal('$holder', null))), marked, '$holder');
  const told = holdersTold(when(equal('$holder', null), [], ['$holder']), '$isStored');
  return [
    own,
    {
      $set: {
        isPending: not(equal(filter('$own', isPending('$$this')), [])),
        isFull: when('$ok', isFull, true),
        isLate,
      },
    },
    {
      $set: {
        isNew: all(not('$isPending'), equal(number('asked'), since), not('$isFull'), not('$isLate')),
      },
    },
    {
      $set: {
        asked: { $add: [number('asked'), when('$isNew', 1, 0)] },
        isStored: any(all('$isPending', not('$isLate')), '$isNew'),
      },
    },
    {
      $set: {
        'was.calls': when('$isStored', withEntry('calls', job, entry), '$was.calls'),
        holder,
        wake: told,
      },
    },
    { $set: { wake: answered(nonce, when('$isFull', CALLS_FULL, when('$isLate', CALL_LATE, answer))) } },
  ];
}
