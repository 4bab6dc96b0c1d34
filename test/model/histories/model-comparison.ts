import assert from 'node:assert/strict';

import type { Operation } from '../../../src/protocol/operation.js';
import { fateOf, refusalOf } from '../../../src/protocol/replies/reply.js';
import type { Reply } from '../../../src/protocol/replies/reply.js';
import { setsLimit } from '../../judge/invariants.js';
import { idsOf } from '../documents/lock-document-driver.js';
import type { StoredDocument } from '../documents/lock-document-driver.js';
import type { TestedKind } from '../documents/lock-kinds.js';
import { earliestInTheWay, placesIn, shownIn, toReply, toStored } from '../reference/model-views.js';
import type { Step } from '../reference/reference-model.js';
import type { ModelDocument, Refusal } from '../reference/model-document.js';

/** Compares what the server stored and replied with the reference model. */

export function compareStored(
  { model }: TestedKind,
  name: string,
  document: ModelDocument,
  stored: StoredDocument | null,
): void {
  const expected = toStored(model, name, document);
  assert.ok(stored !== null, 'the document is gone');
  assert.deepEqual(stored, expected);
  const order = Object.keys(stored['queue'] as object);
  assert.deepEqual(order, Object.keys(expected['queue'] as object), 'the order of the queue');
}

/** The process that a reply was projected for, and whether the reply counts its waiters. */
interface Asker {
  readonly process: string;
  readonly counts: boolean;
}

export function compareReply(
  kind: TestedKind,
  reply: Reply,
  step: Step,
  operations: readonly Operation[],
  asker: Asker,
): void {
  const { after } = step;
  assert.equal(reply.isWellFormed, true);
  assert.equal(reply.kind, after.type === 'other-kind' ? after.kind : kind.model.kind);
  if (after.type === 'lock') {
    const { fence, wake, waiters, leaseCount, limit, isWriterWaiting } = reply;
    const shown = { fence, wake, waiters, leaseCount, limit, isWriterWaiting };
    assert.deepEqual(shown, toReply(kind.model, after.document));
    compareLeases(reply, after.document, operations.flatMap(idsOf));
    comparePlaces(reply, after.document, operations, asker);
  }
  for (const operation of operations) {
    if ('request' in operation && operation.request.process === asker.process) {
      compareFate(kind, reply, step, operations, operation);
    }
  }
}

/** A reply shows only stored leases and none twice, but not all of a long list. */
function compareLeases(reply: Reply, document: ModelDocument, ids: readonly string[]): void {
  const shown = reply.leases.map(({ id }) => id);
  assert.equal(new Set(shown).size, shown.length, 'a lease is shown twice');
  for (const lease of reply.leases) assert.deepEqual(lease, find(document.leases, lease.id));
  for (const { id } of shownIn(document, ids)) assert.ok(shown.includes(id), `${id} is not shown`);
}

/** A reply shows the places of the attempts that the update concerns, and no others. */
function comparePlaces(
  reply: Reply,
  document: ModelDocument,
  operations: readonly Operation[],
  { process, counts }: Asker,
): void {
  const first = reply.places[0]?.place ?? 0;
  assert.equal(reply.earliestExpiryMs, earliestInTheWay(document, first));
  const places = placesIn(document);
  const concerned = new Set(operations.flatMap(idsOf));
  assert.deepEqual(
    reply.places,
    places.filter(({ id }) => concerned.has(id)),
  );
  const own = document.queue.filter(({ waiter }) => waiter.process === process);
  if (counts) assert.equal(reply.ownWaiters, own.length);
}

function compareFate(
  { rules }: TestedKind,
  reply: Reply,
  { after, refusals, hasVacated }: Step,
  operations: readonly Operation[],
  { type, request }: Extract<Operation, { request: unknown }>,
): void {
  const { id } = request;
  const refusal = refusals.get(request);
  const document = after.type === 'lock' ? after.document : undefined;
  const fate = fateOf(reply, id);
  const lease = find(document?.leases ?? [], id);
  if (lease?.upgrading === true) {
    const place = { id, expiresAt: lease.expiresAt, place: 0 };
    assert.deepEqual(fate, { type: 'queued', place }, 'an upgrade jumps the queue');
  } else if (lease !== undefined) assert.equal(fate.type, 'granted', id);
  else if (find(document?.queue ?? [], id) !== undefined) assert.equal(fate.type, 'queued', id);
  else {
    assert.equal(fate.type, 'absent', id);
    // If an attempt was admitted and left in the same update, no caller waits for an answer.
    if (refusal === undefined) return;
    const told = refusalOf(reply, rules, type, request);
    const others = operations.filter(
      (operation) => !('request' in operation) || operation.request !== request,
    );
    const isTold =
      told === refusal ||
      mayBeTold(refusal, told, others) ||
      // After the refusal, a leader in its transition has made room for its heir.
      (hasVacated && refusal === 'full' && told === 'unexplained');
    assert.ok(isTold, `${id} is told ${told}, not ${refusal}`);
  }
}

/** Whether another operation of the same update may have changed the cause of a refusal. */
function mayBeTold(refusal: Refusal, told: string, others: readonly Operation[]): boolean {
  if (others.length === 0 || !CHANGEABLE.includes(refusal)) return false;
  const mayHaveLimited = others.some(
    (other) => setsLimit(other) || ('request' in other && other.request.mustMatch),
  );
  if (mayHaveLimited && [refusal, told].includes('other-limit'))
    return ['unexplained', ...CHANGEABLE].includes(told);
  return told === 'unexplained' && refusal !== 'other-limit';
}

const CHANGEABLE: readonly string[] = ['busy', 'full', 'other-limit'];

const find = <P extends { readonly id: string }>(all: readonly P[], id: string): P | undefined =>
  all.find((one) => one.id === id);
