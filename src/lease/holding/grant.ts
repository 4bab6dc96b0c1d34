import type { Moment } from '../../clock.js';
import type { LossCause } from '../../errors.js';
import type { LeaseTerms } from '../../options/provider-options.js';
import type { Demand } from '../../protocol/operation.js';
import type { Seats } from '../../protocol/seats.js';
import type { UnansweredCopies } from '../../store/unanswered-copies.js';

/** What a process learns of one grant. */
export interface Grant {
  readonly name: string;
  readonly seats: Seats;
  readonly id: string;
  readonly token: number;
  readonly terms: LeaseTerms;
  /** How much of the lock the request asked for. */
  readonly demand: Demand;
  /** When this process counts the hold as lost: the lease, counted from just before the request, less the allowance. */
  readonly deadline: Moment;
  /** Set if the process may keep the seat between its callers; `undefined`: every release gives the seat back. */
  readonly kept?: KeptSeat | undefined;
  /** The copies of the request; `undefined`: all of them are answered. */
  readonly copies?: UnansweredCopies | undefined;
}

/** A seat that a process keeps between its callers. */
export interface KeptSeat {
  readonly keeper: SeatKeeper;
  /** How many earlier holds used this seat. The stored token is the token of the first one. */
  readonly passes: number;
  /** How many more tokens the grant has reserved for this seat. */
  readonly tokensLeft: number;
}

/** The handle of a hold, as the hold sees it. Each method is called at most once. */
export interface HoldObserver {
  lost(why: LossCause): void;
  releaseRequestedNow(): void;
}

/**
 * A hold, as a {@link SeatKeeper} sees it. It is always a HeldLease, whose file imports this one and not vice versa.
 */
export interface KeepableHold {
  readonly grant: Grant;
  readonly remainingMs: number;
  readonly wasAskedToRelease: boolean;
}

/** Keeps the seats of one lock between the callers of this process. */
export interface SeatKeeper {
  /** How many tokens beyond its own token a grant reserves. */
  readonly keeps: number;
  /** The server has granted a seat. */
  seatGranted(): void;
  /** Whether the seat of this hold, which its caller is releasing, may stay in the process. */
  mayKeep(hold: KeepableHold): boolean;
  /** Takes the seat of a released hold, as a new hold that no caller uses yet. */
  keepIdle(idle: KeepableHold): void;
  /** The seat of this hold is given back or lost. */
  seatEnded(hold: KeepableHold): void;
  /** Another process waits for the lock. */
  othersWait(): void;
}
