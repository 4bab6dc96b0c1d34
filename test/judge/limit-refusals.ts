import type { History } from '../faults/history.js';
import type { Ask } from './asks.js';
import type { RunClock } from './run-clock.js';

/** A semaphore refuses a request with this code if its stored limit is below the permits of the request. */
export const LIMIT_MISMATCH = 'SEMAPHORE_LIMIT_MISMATCH';

/** Whether the request, or another one of the same call, asked for more permits than a limit that was stored meanwhile. */
export type ExceedsLimit = (asked: Ask) => boolean;

export function limitsExceeded(
  { interventions }: History,
  asks: readonly Ask[],
  clock: RunClock,
): ExceedsLimit {
  const limits = (interventions?.limits ?? []).map(({ lock, limit, fromNs, untilNs }) => {
    return { lock, limit, fromNs: clock.ns(fromNs), untilNs: clock.ns(untilNs) };
  });
  const exceeds = ({ lock, seat, askedNs, notGranted }: Ask): boolean =>
    seat.kind === 'semaphore' &&
    limits.some(
      (stored) =>
        stored.lock === lock &&
        stored.limit < seat.permits &&
        stored.fromNs <= (notGranted?.atNs ?? Infinity) &&
        askedNs <= stored.untilNs,
    );
  return (asked) => asks.some((other) => isOfSameCall(asked, other) && exceeds(other));
}

const isOfSameCall = (one: Ask, other: Ask): boolean =>
  one === other ||
  (one.isOneOfSeveral &&
    other.isOneOfSeveral &&
    one.worker === other.worker &&
    one.askedNs === other.askedNs &&
    one.notGranted?.atNs === other.notGranted?.atNs);
