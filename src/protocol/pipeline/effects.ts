import {
  NOW,
  all,
  any,
  at,
  bind,
  equal,
  filter,
  idText,
  indexesOf,
  isIn,
  leaseFromNow,
  literal,
  marked,
  merge,
  not,
  when,
} from '../expressions.js';
import type { Expression, Fields, Stage } from '../expressions.js';
import type { Operation, RaiseFence, Request } from '../operation.js';
import type { SeatRules } from '../seats.js';
import { isOneOf } from '../stored-lease.js';
import { holdersTold, departed, looked } from '../wake.js';
import { recordRevocation } from './revocation.js';

/** The changes of one operation to the state of a transition. The admission of waiters follows. */
export function operate(seats: SeatRules, operation: Operation): readonly Stage[] {
  switch (operation.type) {
    case 'enqueue':
      return enqueue(seats, operation.request, []);
    case 'try': {
      // A try is queued only if the queue is empty and a seat is free. So the admission that follows always admits the
      // try, and the try overtakes no waiter (L3).
      const { request } = operation;
      return enqueue(seats, request, [equal('$queue', []), seats.hasRoomFor(request)]);
    }
    case 'cancel':
      return [{ $set: { queue: queueWithout(operation.id) } }];
    case 'leave':
      return [{ $set: leave(seats, operation.id) }];
    case 'extend':
      return [{ $set: extend(seats, operation.ids, operation.nonce) }];
    case 'ask': {
      const { ids, why } = operation;
      const asked = { ...seats.markEnding(ids, why), wake: tell(seats, ids) };
      return [...recordRevocation(seats, operation, false), { $set: asked }];
    }
    case 'evict': {
      const { ids } = operation;
      const emptied = { ...seats.evict(ids), wake: tell(seats, ids) };
      return [...recordRevocation(seats, operation, true), { $set: emptied }];
    }
    case 'raiseFence':
      return [{ $set: raiseFence(seats, operation) }];
    case 'exchange':
    case 'resize':
    case 'handOver':
    case 'claim':
    case 'claimWithoutTerm':
    case 'conclude':
    case 'call':
      return seats.own(operation);
  }
}

const isQueued = (id: string): Expression => isIn(idText(id), '$queue.k');

/**
 * Searches the queue first, because most leaves give back a lease: their id is not in the queue. A search costs less
 * than a filter.
 */
const queueWithout = (id: string): Expression =>
  when(isQueued(id), filter('$queue', { $ne: ['$$this.k', idText(id)] }), '$queue');

/**
 * Puts the request at the end of the queue. The request is not queued in these cases: the document may not be changed,
 * the id has a lease or a place already, the request comes after its not-after, the lock is full, or a condition of
 * the kind of lock or one of `conditions` is not met.
 */
function enqueue(seats: SeatRules, request: Request, conditions: readonly Expression[]): readonly Stage[] {
  const { id, notAfter, maxMembers } = request;
  const members: Expression = { $add: [{ $size: '$queue' }, seats.count] };
  const isAccepted = all(
    '$ok',
    not(any(seats.isHeldBy(id), isQueued(id))),
    { $lte: [NOW, notAfter] },
    { $lt: [members, maxMembers] },
    ...seats.conditions(request),
  );
  const queueIf = (condition: Expression): Stage => ({
    $set: {
      queue: when(
        all(condition, ...conditions),
        { $concatArrays: ['$queue', [{ k: id, v: waiterOf(seats, request) }]] },
        '$queue',
      ),
    },
  });
  const before = seats.beforeQueued(request);
  if (before.length === 0) return [queueIf(isAccepted)];
  return [{ $set: { isAccepted } }, ...before, queueIf('$isAccepted')];
}

function waiterOf(seats: SeatRules, request: Request): Fields {
  const { process, leaseMs, label, why, traceparent, keeps } = request;
  return {
    process,
    leaseMs,
    since: NOW,
    expiresAt: { $add: [NOW, leaseMs] },
    ...seats.requestFields(request),
    ...(label === undefined ? {} : { label: literal(label) }),
    ...(why === undefined ? {} : { why: literal(why) }),
    ...(traceparent === undefined ? {} : { traceparent: literal(traceparent) }),
    ...(keeps === undefined ? {} : { keeps }),
  };
}

/**
 * Removes the lease or the place of this attempt. The word in `wake` says which lease the attempt gave back. The word
 * also makes the first copy of a leave a real write, even if nothing is removed: an isolated old primary acknowledges
 * an update that changes nothing.
 */
const leave = (seats: SeatRules, id: string): Fields => ({
  ...seats.vacate(id),
  queue: queueWithout(id),
  wake: departed(id, seats.tokenOf(id)),
});

/** Extends leases, and places in the queue. An attempt that has neither a lease nor a place gets none. */
function extend(seats: SeatRules, ids: readonly string[], nonce: string): Fields {
  const [id, ...others] = ids;
  const queue =
    id !== undefined && others.length === 0
      ? { $map: { input: '$queue', in: when(equal('$$this.k', idText(id)), EXTENDED, '$$this') } }
      : queueWithExtended(ids);
  return { ...seats.extend(ids), queue, wake: looked(nonce) };
}

const EXTENDED: Expression = merge('$$this', {
  v: merge('$$this.v', { expiresAt: leaseFromNow('$$this.v.expiresAt', '$$this.v.leaseMs') }),
});

/**
 * Goes over the queue a fixed number of times, however many places are extended. A process may have thousands of
 * places.
 */
const queueWithExtended = (ids: readonly string[]): Expression =>
  bind(
    { marks: bind({ marks: marked({ $arrayToObject: '$queue' }, ids) }, '$$marks.v') },
    {
      $map: {
        input: indexesOf('$queue'),
        as: 'index',
        in: bind(
          { this: at('$queue', '$$index') },
          when(equal(at('$$marks', '$$index'), true), EXTENDED, '$$this'),
        ),
      },
    },
  );

/** Raises the fence if this attempt has a lease. The reply shows the lease and the fence, and so the effect. */
const raiseFence = (seats: SeatRules, { id, token, nonce }: RaiseFence): Fields => ({
  fence: when(seats.isHeldBy(id), { $max: ['$fence', { $toLong: token }] }, '$fence'),
  wake: looked(nonce),
});

const tell = (seats: SeatRules, ids: readonly string[]): Expression =>
  holdersTold(seats.leases, isOneOf('$$this', ids));
