import {
  FENCE_IN_RANGE,
  IS_NEW,
  NOW,
  SHAPE_BESIDE_QUEUE,
  all,
  bind,
  idText,
  isLive,
  literal,
  match,
  merge,
  nextToken,
  when,
} from '../expressions.js';
import type { Expression, Fields, Stage } from '../expressions.js';
import { DOCUMENT_VERSION } from '../lock-document.js';
import type { Lease } from '../lock-document.js';
import type { Operation, Request } from '../operation.js';
import { LEAVE_PROJECTION, isLease, timeOf } from '../replies/reply.js';
import type { Reply } from '../replies/reply.js';
import type { KindRules, StoredFields } from '../kind-rules.js';
import { purgeAfter } from './purging.js';
import { departedUnread, onlyDeparted, readWake } from '../wake.js';

/**
 * The fast path of an operation on a lock that no other process uses: enter a vacant lock with an empty queue, or leave
 * a lock that has no other holder and no waiter. It changes a stored document as the transition would, or leaves it as
 * it is. Only the trace context that a leave of an instrumented provider puts into `wake` is left out, because no
 * waiter reads it. If nothing shows that the fast path was applied, the process sends the transition.
 *
 * The cost of a pipeline follows from the number of its expressions: 0.5 to 1 µs each, most of it for parsing. A fast
 * path has a quarter of the expressions. On one member, an acquire of a free lock by a transition took 1.5 times as
 * long as a bare write, and by a fast path 1.2 times.
 */
export interface FastPath {
  readonly pipeline: readonly Stage[];
  readonly fields: Fields;
  readonly upsert: boolean;
  /**
   * The answer that the transition would have given, read from the updated document; `undefined`: the operation was
   * not applied.
   */
  read(document: StoredFields): FastPathAnswer | undefined;
  /**
   * The answer without a read, if the server has counted this update among those that changed their document;
   * `undefined`: the document has to be read.
   */
  readonly counted: FastPathAnswer | undefined;
  /**
   * The answer from a read that followed the update; `undefined`: the read does not show that the update was applied.
   * Call this method only for the first copy of an operation, because a read shows the effect of an earlier copy in the
   * same way.
   */
  answerFromRead(document: StoredFields): FastPathAnswer | undefined;
  readonly rules: KindRules;
  /** The operation of this fast path. A group may send several leaves as one update, and several requests as one. */
  readonly operation: Entering | Leaving;
}

export type Entering = Extract<Operation, { readonly request: Request }>;
export type Leaving = Extract<Operation, { readonly type: 'leave' }>;

export interface FastPathAnswer {
  readonly wake: readonly string[];
  readonly reply: Reply | null;
  /** The server's time of the update, or of the read that followed it; `undefined`: nothing was read. */
  readonly nowMs: number | undefined;
}

/**
 * The fast path of this operation; `undefined`: it has none.
 *
 * @param creates - Whether to create the document if there is none. An update that creates none has fewer expressions.
 */
export function fastPath(
  rules: KindRules,
  operation: Operation,
  { creates = false }: { readonly creates?: boolean } = {},
): FastPath | undefined {
  if (operation.type === 'leave') return leaveOf(rules, operation);
  if (operation.type !== 'enqueue' && operation.type !== 'try') return undefined;
  return enterOf(rules, operation, creates);
}

/** The fields of a vacant lock that this operation creates, without `fence`, `queue` and `purgeAt`. */
export const vacantFields = (rules: KindRules, operation: Entering): Fields => ({
  kind: rules.kind,
  v: DOCUMENT_VERSION,
  ...rules.vacant([operation]),
  wake: '',
});

/**
 * Turns the document that an upsert has just created into a vacant lock. The lock is well-formed even if the next stage
 * grants nothing.
 */
function created(rules: KindRules, operation: Entering): Stage {
  const vacant = merge('$$ROOT', {
    ...vacantFields(rules, operation),
    fence: { $toLong: 0 },
    queue: literal({}),
    // The next stage sets a later `purgeAt` if it grants the lock. If it grants nothing, the document may be purged at
    // once.
    purgeAt: NOW,
  });
  return { $replaceWith: when(IS_NEW, vacant, '$$ROOT') };
}

/**
 * Conditions: the lock is of this kind and has no waiter, its other common fields are well-formed, and the pairs of
 * `own` match.
 */
const isUncontended = (
  rules: KindRules,
  own: readonly (readonly [Expression, Expression])[] = [],
): readonly Expression[] => [
  match([['$kind', rules.kind], ['$queue', literal({})], ...SHAPE_BESIDE_QUEUE, ...own]),
  ...FENCE_IN_RANGE,
];

/** The parts that differ between requests that one update can serve (`haveSameTerms`). */
export interface Own {
  readonly notAfter: Expression;
  /** Returns the lease: the given `terms`, and the fields that only this request has. */
  lease(terms: Fields): Expression;
}

const ownOf = ({ id, label, why, traceparent, notAfter }: Request): Own => ({
  notAfter,
  lease: (terms) => ({
    id,
    ...(label === undefined ? {} : { label: literal(label) }),
    ...(why === undefined ? {} : { why: literal(why) }),
    ...(traceparent === undefined ? {} : { traceparent: literal(traceparent) }),
    ...terms,
  }),
});

/** The document after the request: with the lease if the request could enter, else as it was. */
export function entered(rules: KindRules, request: Request, own: Own = ownOf(request)): Expression {
  const { process, keeps, retentionMs } = request;
  const addedMs = rules.lengthenedBy === null ? 0 : (request[rules.lengthenedBy] ?? 0);
  const leaseMs = request.leaseMs + addedMs;
  const lease = own.lease({
    process,
    leaseMs,
    expiresAt: { $add: [NOW, leaseMs] },
    ...(keeps === undefined ? {} : { keeps }),
    ...rules.requestFields(request),
    token: '$$token',
    acquiredAt: NOW,
  });
  const reserved = rules.keeping === 'passed' ? keeps : undefined;
  const fence: Expression = reserved === undefined ? '$$token' : { $add: ['$$token', reserved] };
  const taken = merge('$$ROOT', {
    fence,
    ...rules.uncontended.taken(lease, request),
    wake: '',
    purgeAt: purgeAfter(request.leaseMs + retentionMs, '$purgeAt', fence),
  });
  const condition = all(
    ...isUncontended(rules, rules.uncontended.vacant),
    { $lte: [NOW, own.notAfter] },
    ...rules.uncontended.conditions(request),
  );
  return when(condition, bind({ token: nextToken() }, taken), '$$ROOT');
}

function enterOf(rules: KindRules, operation: Entering, creates: boolean): FastPath {
  const { request } = operation;
  const { id } = request;
  return {
    // A getter, because requests that share an update need no pipelines of their own: `enteringTogether` makes one.
    get pipeline() {
      const entering = { $replaceWith: entered(rules, request) };
      return creates ? [created(rules, operation), entering] : [entering];
    },
    fields: { _id: 0, now: NOW, fence: 1, ...rules.uncontended.fields },
    upsert: creates,
    // The lease counts only if this very update granted it. An isolated old primary may show the effect of an earlier
    // update.
    read: (document) =>
      readTaken(rules, document, (own, nowMs) => own.id === id && own.acquiredAt.getTime() === nowMs),
    counted: undefined,
    answerFromRead: (document) =>
      readTaken(rules, document, (own, nowMs) => own.id === id && own.expiresAt.getTime() > nowMs),
    rules,
    operation,
  };
}

/**
 * Returns the answer with the lease that the document shows; `undefined` unless the document shows exactly one lease,
 * and `isTaken` accepts this lease. The reply counts no other lease and no waiter: the update found the lock vacant,
 * and attempts that came later are not counted.
 */
function readTaken(
  rules: KindRules,
  document: StoredFields,
  isTaken: (lease: Lease, nowMs: number) => boolean,
): FastPathAnswer | undefined {
  const { now, fence, limit } = document;
  const [lease, ...others] = rules.leasesIn(document);
  if (!isLease(lease) || others.length > 0 || !(now instanceof Date) || !isTaken(lease, now.getTime())) {
    return undefined;
  }
  const reply: Reply = {
    nowMs: now.getTime(),
    kind: rules.kind,
    isWellFormed: true,
    fence: Number(fence),
    wake: [],
    leases: [lease],
    leaseCount: 1,
    limit: typeof limit === 'number' ? limit : undefined,
    places: [],
    waiters: 0,
    ownWaiters: 0,
    isWriterWaiting: false,
    earliestExpiryMs: lease.expiresAt.getTime(),
  };
  return { wake: [], reply, nowMs: reply.nowMs };
}

/**
 * The pipeline that removes the only lease of a lock without waiters, if one of these attempts has that lease. One
 * pipeline serves many documents of one kind, so that the server parses it only once.
 */
export function leaving(rules: KindRules, ids: readonly string[]): readonly Stage[] {
  const { uncontended } = rules;
  const condition = all(
    ...isUncontended(rules),
    uncontended.heldByOneOf(ids.map(idText)),
    rules.wellFormed,
    isLive(uncontended.expiresAt),
  );
  const wake = onlyDeparted(uncontended.id, uncontended.token);
  return [{ $replaceWith: when(condition, merge('$$ROOT', { ...uncontended.vacated, wake }), '$$ROOT') }];
}

function leaveOf(rules: KindRules, operation: Leaving): FastPath {
  const { id } = operation;
  // `read` cannot tell this copy of the leave from an earlier copy, which writes the same word. So a repeat does not
  // use the fast path: the process sends the whole transition.
  const read = (document: StoredFields): FastPathAnswer | undefined => {
    const wake = readWake(document['wake']);
    const isLeft = wake.length === 1 && wake[0]?.startsWith(`-${id}:`) === true;
    return isLeft ? { wake, reply: null, nowMs: timeOf(document) } : undefined;
  };
  return {
    // A getter, because leaves that share an update need no pipelines of their own: `leaving` makes one.
    get pipeline() {
      return leaving(rules, [id]);
    },
    fields: LEAVE_PROJECTION,
    upsert: false,
    read,
    counted: { wake: [departedUnread(id)], reply: null, nowMs: undefined },
    answerFromRead: read,
    rules,
    operation,
  };
}
