import type { Clock } from '../clock.js';
import type { Report } from '../events.js';
import type { Standing } from '../lease/holding/loss.js';
import type { Observation } from '../observation.js';
import type { LeaseDurations, Settings } from '../options/provider-options.js';
import type { ContendedLocks } from './contended-locks.js';
import type { StoreHealth } from './store-health.js';
import type { StoreFailure } from './store-failure.js';
import type { StoreSeat, Store } from './store.js';

/** The stores of one provider, and the other parts that all locks of the provider share. */
export interface Quorum {
  readonly stores: readonly Store[];
  /** The smallest whole number above half of the number of stores. */
  readonly majority: number;
  readonly settings: Settings;
  readonly clock: Clock;
  readonly report: Report;
  /** Tells observers of the requests and holds of the provider. If `undefined`, nobody is told. */
  readonly observation?: Observation;
  readonly closing: AbortSignal;
  readonly health: StoreHealth;
  readonly contended: ContendedLocks;
  /**
   * The least time of a lease, in ms, that must be left when a hold begins.
   *
   * @throws `RangeError` if no lease of these durations can have so much time left.
   */
  minValidityMs(durations: LeaseDurations): number;
}

/** A call to one seat. `done` resolves if the call succeeds, and rejects otherwise. */
export interface SeatCall {
  readonly seat: StoreSeat;
  readonly done: Promise<unknown>;
}

export const callSeats = (
  seats: readonly StoreSeat[],
  call: (seat: StoreSeat) => Promise<unknown>,
): readonly SeatCall[] => seats.map((seat) => ({ seat, done: call(seat) }));

export interface SettledCalls {
  /** The seats whose call has succeeded. */
  readonly seats: readonly StoreSeat[];
  readonly failures: readonly StoreFailure[];
}

/**
 * Waits until `needed` calls have succeeded, or until so many have failed that this is impossible. A call that fails
 * later causes no unhandled rejection.
 */
export function awaitQuorum(calls: readonly SeatCall[], needed: number): Promise<SettledCalls> {
  return new Promise((resolve) => {
    const seats: StoreSeat[] = [];
    const failures: StoreFailure[] = [];
    const resolveIfDecided = (): void => {
      if (seats.length >= needed || calls.length - failures.length < needed) {
        resolve({ seats: [...seats], failures: [...failures] });
      }
    };
    for (const { seat, done } of calls) {
      done.then(
        () => {
          seats.push(seat);
          resolveIfDecided();
        },
        (error: unknown) => {
          failures.push({ store: seat.store, hasAnswered: true, error });
          resolveIfDecided();
        },
      );
    }
    resolveIfDecided();
  });
}

/** The time, in ms, for which seats in a majority of all stores can be relied on; 0 if there is no such majority. */
export function majorityRemainingMs(
  seats: Iterable<Pick<StoreSeat, 'remainingMs'>>,
  majority: number,
): number {
  const remaining = Array.from(seats, ({ remainingMs }) => remainingMs).sort((a, b) => b - a);
  return remaining[majority - 1] ?? 0;
}

/** The state of a hold that has these seats. Ends no seat and sends nothing. */
export function standingOfMajority(seats: readonly StoreSeat[], majority: number): Standing {
  const each = seats.map((seat) => seat.standing());
  const remainingMs = majorityRemainingMs(each, majority);
  if (remainingMs > 0) return { remainingMs, why: undefined };
  // A seat past its deadline counts as lost here, even if the timer that ends it is late.
  const lost = each.filter(({ why }) => why !== undefined && why !== 'suspended');
  return { remainingMs, why: each.length - lost.length < majority ? lost[0]?.why : 'suspended' };
}
