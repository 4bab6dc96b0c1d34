import type { ModelDocument, ModelSeats } from './reference-model.js';

/** The document as the server stores it. */
export function toStored<S>(
  seats: ModelSeats<S>,
  name: string,
  { fence, seats: state, queue, wake, purgeAt }: ModelDocument<S>,
): Readonly<Record<string, unknown>> {
  return {
    _id: name,
    kind: seats.kind,
    v: 1,
    fence,
    ...seats.stored(state),
    queue: Object.fromEntries(queue.map(({ id, waiter }) => [id, waiter])),
    wake: wake.map((word) => ` ${word}`).join(''),
    purgeAt,
  };
}

/** One place in the queue, 0 for the head. */
export interface ModelPlace {
  readonly id: string;
  readonly expiresAt: Date;
  readonly place: number;
}

export const placesIn = <S>({ queue }: ModelDocument<S>): readonly ModelPlace[] =>
  queue.map(({ id, waiter: { expiresAt } }, place) => ({ id, expiresAt, place }));

/** What everybody is told of the document. */
export const toReply = <S>(seats: ModelSeats<S>, { fence, wake, seats: state, queue }: ModelDocument<S>) => ({
  ...{ fence, wake, waiters: queue.length },
  leases: seats.leasesOf(state),
});

/** The earliest expiry of a seat, or of a waiter before this place. */
export function earliestInTheWay<S>(
  seats: ModelSeats<S>,
  document: ModelDocument<S>,
  place: number,
): number | null {
  const members = [...seats.leasesOf(document.seats), ...placesIn(document).slice(0, place)];
  return members.length === 0 ? null : Math.min(...members.map(({ expiresAt }) => expiresAt.getTime()));
}
