import type { Moment } from '../../clock.js';
import type { LossCause } from '../../errors.js';
import type { LeaseTerms } from '../../options/provider-options.js';
import type { Demand } from '../../protocol/operation.js';
import type { Seats } from '../../protocol/seats.js';
import type { HeldLease } from './held-lease.js';
import type { UnansweredCopies } from '../../store/unanswered-copies.js';

/** What a grant tells its process. */
export interface Grant {
  readonly name: string;
  readonly seats: Seats;
  readonly id: string;
  readonly token: number;
  readonly terms: LeaseTerms;
  /** How much of the lock was asked for. */
  readonly demand: Demand;
  /** When the hold counts as lost here: what was left of the lease when the request was sent, less the allowance. */
  readonly deadline: Moment;
  /** Of a seat that is passed on within this process; `undefined`: every release gives it back. */
  readonly kept?: KeptSeat | undefined;
  /** The copies of the request; `undefined`: all of them are answered. */
  readonly copies?: UnansweredCopies | undefined;
}

/** A seat that a process keeps between its callers. */
export interface KeptSeat {
  readonly keeper: SeatKeeper;
  /** How many holds of it came before this one: the stored token is that of the first. */
  readonly passes: number;
  /** How many more tokens are reserved for it. */
  readonly tokensLeft: number;
}

/** Whoever holds the object in memory; told at most once of each. */
export interface HoldObserver {
  lost(why: LossCause): void;
  releaseRequestedNow(): void;
}

/** Who keeps seats between the callers of a process. */
export interface SeatKeeper {
  /** How many tokens beyond its own a grant of it reserves. */
  readonly keeps: number;
  /** The server has granted a seat. */
  taken(): void;
  /** Whether the seat of this hold, which is about to end, may be passed on. */
  mayFollow(hold: HeldLease): boolean;
  /** This hold, which nobody has yet, follows one that was released. */
  follows(idle: HeldLease): void;
  /** The seat of this hold is given back, or lost. */
  gone(hold: HeldLease): void;
  /** Somebody waits for it. */
  othersWait(): void;
}
