import type { LossCause } from '../errors.js';
import { awaitQuorum, callSeats } from './quorum.js';
import type { StoreSeat } from './store.js';

/**
 * Releases the seats. Resolves when `majority` of them are released, or when that has become impossible. The result is
 * `undefined` if `majority` of them were held until this release. Otherwise the hold had been lost before, and the
 * result is the cause.
 */
export async function releaseByMajority(
  seats: readonly StoreSeat[],
  majority: number,
): Promise<LossCause | undefined> {
  const released = await awaitQuorum(callSeats(seats, releaseHeld), majority);
  return released.seats.length >= majority ? undefined : causeOfLoss(seats);
}

/** Rejects if the seat had been lost before. */
async function releaseHeld(seat: StoreSeat): Promise<void> {
  if (!(await seat.release())) throw new Error('the seat had been lost before its release');
}

/** A revocation has precedence over every other cause. */
function causeOfLoss(seats: readonly StoreSeat[]): LossCause {
  const causes = seats.flatMap(({ foundGone }) => foundGone ?? []);
  return causes.find((why) => why === 'revoked') ?? causes[0] ?? 'evicted';
}
