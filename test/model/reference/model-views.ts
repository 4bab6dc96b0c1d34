import type { Lease } from '../../../src/protocol/lock-document.js';
import type { ModelKind } from './model-kind.js';
import type { ModelDocument } from './model-document.js';

/** The document as the server stores it. */
export function toStored(
  kind: ModelKind,
  name: string,
  document: ModelDocument,
): Readonly<Record<string, unknown>> {
  const { fence, queue, wake, purgeAt, claims, calls } = document;
  return {
    _id: name,
    kind: kind.kind,
    v: 1,
    fence,
    ...kind.stored(document),
    queue: Object.fromEntries(queue.map(({ id, waiter }) => [id, waiter])),
    wake: wake.map((word) => ` ${word}`).join(''),
    purgeAt,
    ...(claims === undefined ? {} : { claims }),
    ...(calls === undefined ? {} : { calls }),
  };
}

/** One place in the queue, 0 for the head. */
export interface ModelPlace {
  readonly id: string;
  readonly expiresAt: Date;
  readonly place: number;
}

export const placesIn = ({ queue }: ModelDocument): readonly ModelPlace[] =>
  queue.map(({ id, waiter: { expiresAt } }, place) => ({ id, expiresAt, place }));

/** The part of a reply that does not depend on the asker. */
export const toReply = (kind: ModelKind, document: ModelDocument) => {
  const { fence, wake, leases, limit, queue } = document;
  return {
    ...{ fence, wake, waiters: queue.length, leaseCount: leases.length },
    limit: kind.kind === 'semaphore' ? limit : undefined,
    isWriterWaiting: kind.stored(document)['writerWaiting'] === true,
  };
};

/** How many leases every reply shows. Beyond them it shows the leases of the attempts concerned. */
const SHOWN_TO_ALL = 10;

/** The leases that a reply about these attempts has to show. */
export const shownIn = ({ leases }: ModelDocument, ids: readonly string[]): readonly Lease[] =>
  leases.filter(({ id, mode }, index) => index < SHOWN_TO_ALL || mode === 'write' || ids.includes(id));

/** The earliest expiry of a seat, or of a waiter before this place. */
export function earliestInTheWay(document: ModelDocument, place: number): number | null {
  const members = [...document.leases, ...placesIn(document).slice(0, place)];
  return members.length === 0 ? null : Math.min(...members.map(({ expiresAt }) => expiresAt.getTime()));
}
