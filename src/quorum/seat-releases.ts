import type { LossCause } from '../errors.js';
import { awaitQuorum, callSeats } from './quorum.js';
import type { StoreSeat } from './store.js';

/**
 * Resolves with `undefined` when `majority` seats are released. A release that takes longer than `storeTimeoutMs`
 * counts, and goes on in the background. If too many seats had been lost before, so that fewer than `majority` can be
 * released, resolves with the cause of the loss.
 */
export async function releaseByMajority(
  seats: readonly StoreSeat[],
  majority: number,
): Promise<LossCause | undefined> {
  const released = await awaitQuorum(callSeats(seats, releaseHeld), majority);
  return released.seats.length >= majority ? undefined : causeOfLoss(seats);
}

async function releaseHeld(seat: StoreSeat): Promise<void> {
  if (!(await seat.release())) throw new Error('the seat had been lost before its release');
}

/** A revocation has precedence over every other cause. */
function causeOfLoss(seats: readonly StoreSeat[]): LossCause {
  const causes = seats.flatMap(({ foundGone }) => foundGone ?? []);
  return causes.find((why) => why === 'revoked') ?? causes[0] ?? 'evicted';
}
