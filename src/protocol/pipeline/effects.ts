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
import type { KindRules } from '../kind-rules.js';
import { isOneOf } from '../stored-lease.js';
import { holdersTold, departed, looked, traced } from '../wake.js';
import { recordRevocation } from './revocation.js';

/** The changes of one operation to the state of a transition. The admission of waiters follows. */
export function operate(rules: KindRules, operation: Operation): readonly Stage[] {
  switch (operation.type) {
    case 'enqueue':
      return enqueue(rules, operation.request, []);
    case 'try': {
      // A try is queued only if the queue is empty and a seat is free. So the admission that follows always admits the
      // try, and the try overtakes no waiter (L3).
      const { request } = operation;
      return enqueue(rules, request, [equal('$queue', []), rules.hasRoomFor(request)]);
    }
    case 'cancel':
      return [{ $set: { queue: queueWithout(operation.id) } }];
    case 'leave':
      return [{ $set: leave(rules, operation.id) }];
    case 'extend':
      return [{ $set: extend(rules, operation.ids, operation.nonce) }];
    case 'ask': {
      const { ids, why } = operation;
      const asked = { ...rules.markEnding(ids, why), wake: tell(rules, ids) };
      return [...recordRevocation(rules, operation, false), { $set: asked }];
    }
    case 'evict': {
      const { ids } = operation;
      const emptied = { ...rules.evict(ids), wake: tell(rules, ids) };
      return [...recordRevocation(rules, operation, true), { $set: emptied }];
    }
    case 'raiseFence':
      return [{ $set: raiseFence(rules, operation) }];
    case 'exchange':
    case 'resize':
    case 'handOver':
    case 'claim':
    case 'claimWithoutTerm':
    case 'conclude':
    case 'call':
      return rules.own(operation);
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
function enqueue(rules: KindRules, request: Request, conditions: readonly Expression[]): readonly Stage[] {
  const { id, notAfter, maxMembers } = request;
  const members: Expression = { $add: [{ $size: '$queue' }, rules.count] };
  const isAccepted = all(
    '$ok',
    not(any(rules.isHeldBy(id), isQueued(id))),
    { $lte: [NOW, notAfter] },
    { $lt: [members, maxMembers] },
    ...rules.conditions(request),
  );
  const queueIf = (condition: Expression): Stage => ({
    $set: {
      queue: when(
        all(condition, ...conditions),
        { $concatArrays: ['$queue', [{ k: id, v: waiterOf(rules, request) }]] },
        '$queue',
      ),
    },
  });
  const before = rules.beforeQueued(request);
  if (before.length === 0) return [queueIf(isAccepted)];
  return [{ $set: { isAccepted } }, ...before, queueIf('$isAccepted')];
}

function waiterOf(rules: KindRules, request: Request): Fields {
  const { process, leaseMs, label, why, traceparent, keeps } = request;
  return {
    process,
    leaseMs,
    since: NOW,
    expiresAt: { $add: [NOW, leaseMs] },
    ...rules.requestFields(request),
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
const leave = (rules: KindRules, id: string): Fields => ({
  ...rules.vacate(id),
  queue: queueWithout(id),
  wake: departed(id, rules.tokenOf(id)),
});

/**
 * Precedes an operation that may hand over a seat: puts the trace context of its lease into `wake`, for the waiter that
 * enters by the same operation or a later one of the update. If nobody enters, no waiter reads it.
 */
export const traceDeparture = (rules: KindRules, operation: Operation): readonly Stage[] =>
  operation.type === 'leave' || operation.type === 'handOver'
    ? [{ $set: { wake: traced(filter(rules.leases, equal('$$this.id', idText(operation.id)))) } }]
    : [];

/** Extends leases, and places in the queue. An attempt that has neither a lease nor a place gets neither. */
function extend(rules: KindRules, ids: readonly string[], nonce: string): Fields {
  const [id, ...others] = ids;
  const queue =
    id !== undefined && others.length === 0
      ? { $map: { input: '$queue', in: when(equal('$$this.k', idText(id)), EXTENDED, '$$this') } }
      : queueWithExtended(ids);
  return { ...rules.extend(ids), queue, wake: looked(nonce) };
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

/** Raises the fence if this attempt has a lease. The reply shows the lease and the fence. */
const raiseFence = (rules: KindRules, { id, token, nonce }: RaiseFence): Fields => ({
  fence: when(rules.isHeldBy(id), { $max: ['$fence', { $toLong: token }] }, '$fence'),
  wake: looked(nonce),
});

const tell = (rules: KindRules, ids: readonly string[]): Expression =>
  holdersTold(rules.leases, isOneOf('$$this', ids));
