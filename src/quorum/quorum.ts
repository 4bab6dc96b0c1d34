import type { Clock } from '../clock.js';
import type { Report } from '../events.js';
import type { LeaseTerms, Settings } from '../options/provider-options.js';
import type { Contended } from './contended.js';
import type { Silence } from './silence.js';
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
  readonly silence: Silence;
  readonly contended: Contended;
  /** How much of a lease must be left when a hold begins. @throws `RangeError` where no hold could have as much. */
  minValidityMs(terms: LeaseTerms): number;
}

export interface Settled<T> {
  readonly values: readonly T[];
  readonly errors: readonly unknown[];
}

/** Waits until so many of these are fulfilled, or cannot be any more. None of them is an unhandled rejection. */
export function enough<T>(asked: readonly Promise<T>[], needed: number): Promise<Settled<T>> {
  return new Promise((resolve) => {
    const values: T[] = [];
    const errors: unknown[] = [];
    const judge = (): void => {
      if (values.length >= needed || asked.length - errors.length < needed) {
        resolve({ values: [...values], errors: [...errors] });
      }
    };
    for (const each of asked) {
      each.then(
        (value) => {
          values.push(value);
          judge();
        },
        (error: unknown) => {
          errors.push(error);
          judge();
        },
      );
    }
    judge();
  });
}

/** Lifts the fence of these seats to the token, where it may be lower. */
export const fence = (seats: readonly Seat[], token: number, needed: number): Promise<Settled<Seat>> =>
  enough(
    seats.map(async (seat) => {
      if (seat.fencingToken < token) await seat.raiseFence(token);
      return seat;
    }),
    needed,
  );

export const highestToken = (seats: readonly Seat[]): number =>
  Math.max(...seats.map(({ fencingToken }) => fencingToken));

/** How long a majority of all can be relied on; 0 if these are none. */
export function majorityRemainingMs(seats: Iterable<Seat>, majority: number): number {
  const remaining = Array.from(seats, ({ remainingMs }) => remainingMs).sort((a, b) => b - a);
  return remaining[majority - 1] ?? 0;
}
