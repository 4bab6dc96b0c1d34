// The token of a hold: how the hold gets it, and why tokens rise from hold to hold.

import { awaitQuorum, callSeats } from './quorum.js';
import type { SettledCalls } from './quorum.js';
import type { StoreSeat } from './store.js';

/**
 * The token of a hold, and its id.
 *
 * The token is the highest token of the seats with which the hold begins. Before the hold begins, the store of each of
 * these seats raises its fence to this token, while the seat is held. So tokens strictly rise from hold to hold if the
 * holds exclude each other (S3).
 *
 * Proof: let hold A begin before hold B. A raised the fence in a majority of the stores, and B had seats in a majority
 * when B began. Some store is in both majorities. In this store, A had the seat when A raised the fence, and B had the
 * seat later, when B began. So the store granted the seat to B after A had raised the fence, with a token above the
 * fence. The token of B is at least the token of this grant, so it is above the token of A. The fence of a seat that
 * joins later is raised before the seat joins, so the proof also holds for such a seat.
 */
export interface HoldIdentity {
  /** The attempt id of the lease in the store that granted the token. */
  readonly id: string;
  readonly token: number;
}

export const highestToken = (seats: readonly StoreSeat[]): number =>
  Math.max(...seats.map(({ fencingToken }) => fencingToken));

/**
 * Raises the fences of the seats' stores to `token`. A seat whose own token is at least `token` needs no call: the
 * fence of its store is high enough.
 */
export const raiseFences = (
  seats: readonly StoreSeat[],
  token: number,
  needed: number,
): Promise<SettledCalls> =>
  awaitQuorum(
    callSeats(seats, async (seat) => {
      if (seat.fencingToken < token) await seat.raiseFence(token);
    }),
    needed,
  );
