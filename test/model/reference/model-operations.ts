import type { Waiter } from '../../../src/protocol/lock-document.js';
import type { Operation, Request } from '../../../src/protocol/operation.js';
import { leasedFrom } from './model-draft.js';
import type { DraftedDocument } from './model-draft.js';
import type { ModelKind } from './model-kind.js';

/** Applies one operation to the reference model's document, without admitting waiters. */
export function operate(kind: ModelKind, draft: DraftedDocument, operation: Operation): void {
  switch (operation.type) {
    case 'enqueue':
    case 'try':
      apply(kind, draft, operation.request, operation.type);
      break;
    case 'cancel':
      unqueue(draft, operation.id);
      break;
    case 'leave':
      draft.wake.push(`-${operation.id}:${draft.lease(operation.id)?.token ?? 0}`);
      draft.leave(operation.id);
      unqueue(draft, operation.id);
      break;
    case 'extend':
      extend(draft, operation.ids);
      draft.wake.push(`~${operation.nonce}`);
      break;
    case 'ask':
      ask(draft, operation.ids, operation.why);
      break;
    case 'evict':
      draft.tell(operation.ids);
      draft.leases = draft.leases.filter((lease) => !operation.ids.includes(lease.id));
      break;
    case 'raiseFence':
      if (draft.lease(operation.id) !== undefined) draft.fence = Math.max(draft.fence, operation.token);
      draft.wake.push(`~${operation.nonce}`);
      break;
    case 'exchange':
    case 'resize':
    case 'handOver':
    case 'claim':
    case 'claimWithoutTerm':
    case 'conclude':
    case 'call':
      kind.own(draft, operation);
      break;
  }
}

function apply(kind: ModelKind, draft: DraftedDocument, request: Request, type: 'enqueue' | 'try'): void {
  const { id, process, leaseMs, label, why, keeps, notAfter, maxMembers } = request;
  const { nowMs, leases, queue, refusals } = draft;
  if ([...leases, ...queue].some((known) => known.id === id)) return;
  const waiter: Waiter = {
    process,
    leaseMs,
    since: new Date(nowMs),
    expiresAt: new Date(nowMs + leaseMs),
    ...kind.demanded(request),
    ...(label === undefined ? {} : { label }),
    ...(why === undefined ? {} : { why }),
    ...(keeps === undefined ? {} : { keeps }),
  };
  const limit = kind.limitAfter(request, draft, queue);
  if (nowMs > notAfter.getTime()) refusals.set(request, 'late');
  else if (limit === undefined) refusals.set(request, 'other-limit');
  // A try learns no more than that it cannot have the lock now.
  else if (leases.length + queue.length >= maxMembers)
    refusals.set(request, type === 'try' ? 'busy' : 'full');
  else {
    draft.limit = limit;
    kind.accepted(draft, request);
    const mayEnter = draft.queue.length === 0 && kind.admissible(draft, [waiter]) > 0;
    if (type === 'enqueue' || mayEnter) draft.queue = [...draft.queue, { id, waiter }];
    else refusals.set(request, 'busy');
  }
}

function unqueue(draft: DraftedDocument, gone: string): void {
  draft.queue = draft.queue.filter(({ id }) => id !== gone);
}

function extend(draft: DraftedDocument, ids: readonly string[]): void {
  draft.extendLeases(ids);
  draft.queue = draft.queue.map(({ id, waiter }) => ({
    id,
    waiter: ids.includes(id) ? leasedFrom(waiter, draft.nowMs) : waiter,
  }));
}

function ask(draft: DraftedDocument, ids: readonly string[], why: string | undefined): void {
  draft.tell(ids);
  const mark = { ending: true, ...(why === undefined ? {} : { endingWhy: why }) };
  draft.change(ids, (lease) => (lease.ending === true ? lease : { ...lease, ...mark }));
}
