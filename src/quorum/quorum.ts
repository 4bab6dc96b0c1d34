import type { Clock } from '../clock.js';
import type { Report } from '../events.js';
import type { LeaseTerms, Settings } from '../options/provider-options.js';
import type { ContendedLocks } from './contended-locks.js';
import type { StoreHealth } from './store-health.js';
import type { StoreFailure } from './store-failure.js';
import type { Seat, Store } from './store.js';

/** The stores of one provider, and what its locks share. */
export interface Quorum {
  readonly stores: readonly Store[];
  /** More than half of them. */
  readonly majority: number;
  readonly settings: Settings;
  readonly clock: Clock;
  readonly report: Report;
  /** Aborts when the provider closes. */
  readonly closing: AbortSignal;
  readonly health: StoreHealth;
  readonly contended: ContendedLocks;
  /** How much of a lease must be left when a hold begins. @throws `RangeError` where no hold could have as much. */
  minValidityMs(terms: LeaseTerms): number;
}

/** What is asked of one seat; fulfilled if it has done it. */
export interface Asked {
  readonly seat: Seat;
  readonly done: Promise<unknown>;
}

export const ask = (seats: readonly Seat[], what: (seat: Seat) => Promise<unknown>): readonly Asked[] =>
  seats.map((seat) => ({ seat, done: what(seat) }));

export interface Settled {
  /** Those that have done it. */
  readonly seats: readonly Seat[];
  readonly failures: readonly StoreFailure[];
}

/** Waits until so many have done it, or cannot any more. None of them is an unhandled rejection. */
export function awaitQuorum(asked: readonly Asked[], needed: number): Promise<Settled> {
  return new Promise((resolve) => {
    const seats: Seat[] = [];
    const failures: StoreFailure[] = [];
    const judge = (): void => {
      if (seats.length >= needed || asked.length - failures.length < needed) {
        resolve({ seats: [...seats], failures: [...failures] });
      }
    };
    for (const { seat, done } of asked) {
      done.then(
        () => {
          seats.push(seat);
          judge();
        },
        (error: unknown) => {
          failures.push({ store: seat.store, hasAnswered: true, error });
          judge();
        },
      );
    }
    judge();
  });
}

/** Lifts the fence of these seats to the token, where it may be lower. */
export const fence = (seats: readonly Seat[], token: number, needed: number): Promise<Settled> =>
  awaitQuorum(
    ask(seats, async (seat) => {
      if (seat.fencingToken < token) await seat.raiseFence(token);
    }),
    needed,
  );

export const highestToken = (seats: readonly Seat[]): number =>
  Math.max(...seats.map(({ fencingToken }) => fencingToken));

/** How long a majority of all can be relied on; 0 if these are none. */
export function majorityRemainingMs(seats: Iterable<Pick<Seat, 'remainingMs'>>, majority: number): number {
  const remaining = Array.from(seats, ({ remainingMs }) => remainingMs).sort((a, b) => b - a);
  return remaining[majority - 1] ?? 0;
}
