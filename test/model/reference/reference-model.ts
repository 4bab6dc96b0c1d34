import type { StoredCall } from '../../../src/protocol/jobs/job-calls.js';
import type { StoredClaim } from '../../../src/protocol/jobs/job-claims.js';
import type { LockKind } from '../../../src/protocol/lock-document.js';
import type { Operation, Request } from '../../../src/protocol/operation.js';
import { DraftedDocument, omit } from './model-draft.js';
import type { ModelDocument, Refusal } from './model-document.js';
import type { ModelKind } from './model-kind.js';
import { operate } from './model-operations.js';

/**
 * What one update does to one lock document, in plain TypeScript: the rules of the protocol written a second time,
 * without a pipeline, so that tests can compare the two.
 *
 * Time is a parameter. The server's time is known only from its reply to an update, which the model then repeats.
 */

export type Stored =
  | { readonly type: 'missing'; readonly claims?: undefined; readonly calls?: undefined }
  | { readonly type: 'lock'; readonly document: ModelDocument }
  /** A well-formed document of another kind of lock; of its leases and waiters only the expiries matter. */
  | {
      readonly type: 'other-kind';
      readonly kind: LockKind;
      readonly fence: number;
      readonly wake: readonly string[];
      readonly purgeAt: Date;
      readonly expiries: readonly Date[];
      readonly claims?: readonly StoredClaim[] | undefined;
      readonly calls?: readonly StoredCall[] | undefined;
    }
  | { readonly type: 'corrupt'; readonly claims?: undefined; readonly calls?: undefined };

export interface Step {
  readonly after: Stored;
  /** The requests that were refused, each with the reason at its turn. */
  readonly refusals: ReadonlyMap<Request, Refusal>;
  /** Whether a lease that was live when the update began is gone after it. */
  readonly hasVacated: boolean;
}

const HALF_DAY_MS = 43_200_000;
const MISSING = { type: 'missing' } as const;

/** expire → (operate → admit)* → publish; without operations it admits once. */
export function transition(
  kind: ModelKind,
  before: Stored,
  operations: readonly Operation[],
  nowMs: number,
  takingOver = false,
): Step {
  const creates = operations.some(({ type }) => ['enqueue', 'try', 'claimWithoutTerm'].includes(type));
  if (before.type === 'missing' && !creates)
    return { after: MISSING, refusals: new Map(), hasVacated: false };
  if (before.type === 'corrupt') return untouched(before, operations, 'corrupt');
  const opened = open(before, operations, nowMs, takingOver);
  if (opened === undefined) return untouched(before, operations, 'other-kind');

  const draft = new DraftedDocument(opened, nowMs);
  const live = draft.leases;
  if (operations.length === 0) admit(kind, draft);
  for (const operation of operations) {
    operate(kind, draft, operation);
    admit(kind, draft);
    if ('request' in operation && isShutOut(draft, operation.request)) {
      draft.tellKeepers(operation.request.process);
    }
    if (kind.isHeldBack(draft, operation)) draft.tellKeepers();
  }
  const { fence, leases, limit, queue, wake, claims, calls, refusals } = draft;
  const purgeAt = raised(opened.purgeAt, fence, nowMs, operations.map(lifetimeMs));
  const document = { fence, leases, limit, queue, wake, purgeAt, claims, calls };
  const hasVacated = live.some(({ id }) => draft.lease(id) === undefined);
  return { after: { type: 'lock', document }, refusals, hasVacated };
}

/** What the batched extension does to one document. It is no transition: it drops no lease and admits no waiter. */
export function extension(
  before: Stored,
  ids: readonly string[],
  leaseMs: number,
  retentionMs: number,
  nowMs: number,
): Stored {
  const atLeast = [leaseMs + retentionMs];
  if (before.type === 'other-kind') {
    return { ...before, wake: [], purgeAt: raised(before.purgeAt, before.fence, nowMs, atLeast) };
  }
  if (before.type !== 'lock') return before;
  const { document } = before;
  const draft = new DraftedDocument(document, nowMs);
  draft.extendLeases(ids);
  const leases = document.leases.map((lease) => draft.lease(lease.id) ?? lease);
  const purgeAt = raised(document.purgeAt, document.fence, nowMs, atLeast);
  return { type: 'lock', document: { ...document, leases, wake: [], purgeAt } };
}

function untouched(before: Stored, operations: readonly Operation[], why: Refusal): Step {
  const refused = operations.flatMap((operation) =>
    'request' in operation ? [[operation.request, why] as const] : [],
  );
  return { after: before, refusals: new Map(refused), hasVacated: false };
}

/** The document to work on; `undefined` if another kind of lock is in use there. */
function open(
  before: Exclude<Stored, { readonly type: 'corrupt' }>,
  operations: readonly Operation[],
  nowMs: number,
  takingOver: boolean,
): ModelDocument | undefined {
  if (before.type === 'lock') return before.document;
  const vacant = { leases: [], limit: firstLimit(operations), queue: [], wake: [] };
  if (before.type === 'missing') return { ...vacant, fence: 0, purgeAt: new Date(0) };
  const isIdle = before.expiries.every((expiresAt) => expiresAt.getTime() <= nowMs);
  const { fence, purgeAt, claims, calls } = before;
  return takingOver && isIdle ? { ...vacant, fence, purgeAt, claims, calls } : undefined;
}

/** A new document has the limit of the first operation of its update that knows one. */
function firstLimit(operations: readonly Operation[]): number {
  const limits = operations.flatMap((operation) => {
    if (operation.type === 'resize') return [operation.limit];
    return 'request' in operation ? [operation.request.limit ?? 0] : [];
  });
  return limits.find((limit) => limit > 0) ?? 0;
}

/** Admits the first waiters, with the expiry that they had as waiters and what their kind adds to it. */
function admit(kind: ModelKind, draft: DraftedDocument): void {
  kind.promote(draft);
  const waiters = draft.queue.map(({ waiter }) => waiter);
  const entering = draft.queue.slice(0, kind.admissible(draft, waiters));
  draft.queue = draft.queue.slice(entering.length);
  // Waiters that are admitted together each reserve as many tokens as the one with the largest reserve.
  const reserves = entering.map(({ waiter }) => waiter.keeps ?? 0);
  const reserved = kind.reserves ? Math.max(0, ...reserves) : 0;
  for (const { id, waiter } of entering) {
    const token = draft.nextToken(reserved);
    const addedMs = kind.addedMs(waiter);
    const lease = {
      id,
      ...omit(waiter, 'since'),
      leaseMs: waiter.leaseMs + addedMs,
      expiresAt: new Date(waiter.expiresAt.getTime() + addedMs),
      token,
      acquiredAt: new Date(draft.nowMs),
    };
    draft.leases = [...draft.leases, lease];
    // A request that this update has queued itself learns of its grant by the reply.
    if (draft.queuedBefore.has(id)) draft.wake.push(`${waiter.process}:${id}:${token}`);
  }
}

/** Whether a request was in time and has no lease. A late request does not wait. */
const isShutOut = (draft: DraftedDocument, { id, notAfter }: Request): boolean =>
  draft.lease(id) === undefined && draft.nowMs <= notAfter.getTime();

/** How long after now the document may be needed because of this operation. */
function lifetimeMs(operation: Operation): number {
  if ('request' in operation) return operation.request.leaseMs + operation.request.retentionMs;
  if (operation.type === 'claimWithoutTerm') return operation.retentionMs;
  return operation.type === 'extend' ? operation.leaseMs + operation.retentionMs : 0;
}

/** Stays while it covers what is needed. Otherwise raised to half a day to a day beyond that; the fence says how far. */
function raised(purgeAt: Date, fence: number, nowMs: number, lifetimesMs: readonly number[]): Date {
  const needed = Math.max(...lifetimesMs.filter((ms) => ms > 0).map((ms) => nowMs + ms));
  if (purgeAt.getTime() >= needed) return purgeAt;
  return new Date(needed + HALF_DAY_MS + (((fence % HALF_DAY_MS) * 48_271) % HALF_DAY_MS));
}
