// Decides by the answers of all stores whether a round is won. If the round is not won, finds the obstacles.

import type { LeaseInfo } from '../protocol/replies/snapshot.js';
import type { HoldIdentity } from './hold-token.js';
import type { AskedStore } from './store-answer.js';
import type { StoreFailure } from './store-failure.js';
import type { StoreHealth } from './store-health.js';
import type { StoreSeat, Store } from './store.js';

/** The token, the id and the seats of the hold that a won round makes. */
export interface Win extends HoldIdentity {
  readonly seats: readonly StoreSeat[];
}

/** Why the latest round is not won, or not won yet. */
export interface Obstacles {
  /** The stores where the lock was busy in the latest round, or by a late answer after it, each with its holders. */
  readonly busyStores: ReadonlyMap<Store, readonly LeaseInfo[]>;
  /** The holders that the latest answer of each store shows. That answer may be from an earlier round. */
  readonly holders: readonly LeaseInfo[];
  /** The stores whose latest answer is a failure, or that were asked and have never answered this request. */
  readonly failures: readonly StoreFailure[];
  /** Whether the lock was busy at the gate, so that no other store was asked. */
  readonly isGateBusy: boolean;
}

export function grantedSeats(stores: readonly AskedStore[]): ReadonlyMap<Store, StoreSeat> {
  const granted = new Map<Store, StoreSeat>();
  for (const { store, answer } of stores) {
    if (answer?.type === 'granted') granted.set(store, answer.seat);
  }
  return granted;
}

/**
 * A round is won if there is a granted token T such that a majority of the stores has granted a seat with a token of at
 * most T, and has confirmed a fence of T or above.
 */
export function winOf(stores: readonly AskedStore[], majority: number): Win | undefined {
  const granted = stores.flatMap(({ answer }) => (answer?.type === 'granted' ? [answer] : []));
  for (const { seat } of granted) {
    const { id, fencingToken: token } = seat;
    const fenced = granted.filter((each) => each.seat.fencingToken <= token && each.fence.confirmed >= token);
    if (fenced.length >= majority) return { id, token, seats: fenced.map((each) => each.seat) };
  }
  return undefined;
}

export function obstaclesOf(
  stores: readonly AskedStore[],
  health: StoreHealth,
  isGateBusy: boolean,
): Obstacles {
  const busyStores = new Map<Store, readonly LeaseInfo[]>();
  const failures: StoreFailure[] = [];
  const holders: LeaseInfo[] = [];
  for (const { store, answer, lastAnswer, inFlight } of stores) {
    if (answer?.type === 'busy') busyStores.set(store, answer.holders);
    if (lastAnswer?.type === 'busy') holders.push(...lastAnswer.holders);
    const hasFailed = lastAnswer?.type === 'failed';
    if (!hasFailed && (lastAnswer !== undefined || inFlight === undefined)) continue;
    const error = hasFailed ? lastAnswer.error : store.unanswered();
    failures.push({ store: store.index, hasAnswered: health.hasAnswered(store), error });
  }
  return { busyStores, holders, failures, isGateBusy };
}

/** Whether one process has seats in a majority of the stores. As long as the process has them, no round can win. */
export function isHeldByOneProcess({ busyStores }: Obstacles, majority: number): boolean {
  const counts = new Map<string, number>();
  for (const holders of busyStores.values()) {
    for (const process of new Set(holders.map((holder) => holder.process))) {
      counts.set(process, (counts.get(process) ?? 0) + 1);
    }
  }
  return Math.max(0, ...counts.values()) >= majority;
}
