import type { Clock } from '../../clock.js';
import { AcquireTimeoutError } from '../../errors.js';
import type { Report } from '../../events.js';
import type { Keeping } from '../../options/request-options.js';
import type { Demand } from '../../protocol/operation.js';
import type { LeaseInfo } from '../../protocol/replies/snapshot.js';
import type { Reply } from '../../protocol/replies/reply.js';
import type { SeatRules } from '../../protocol/seats.js';
import { isEnough } from '../deadline.js';
import { newAttemptId } from '../ids.js';
import type { Hold } from '../holding/hold.js';
import type { Seat, SeatKeeper } from '../holding/seat.js';
import type { LocalRequest } from './local-queue.js';

/** A request for a lock whose seats may be kept. */
export interface CachedRequest extends LocalRequest, Keeping {
  readonly demand: Demand;
}

/** A seat of this process, as a read of its lock is compared with it. */
export type OwnSeat = Pick<Seat, 'id' | 'isOpen' | 'wasAskedToRelease'>;

/** One lock whose seats this process may keep, as the cache and the requester see it. */
export interface Cached extends SeatKeeper {
  readonly name: string;
  readonly seats: SeatRules;
  readonly keepMs: number;
  /** Whether this object has any state that must be remembered. */
  readonly isInUse: boolean;
  /** Whether this process has a seat, so that a process which waits behind it may notify this one. */
  readonly hasSeats: boolean;
  /** The seats that this process has, idle or in use. */
  readonly ownSeats: readonly OwnSeat[];
  /**
   * Returns a hold of a kept seat, or of one that the server grants.
   *
   * @param ask - Asks the server; called at most once.
   */
  acquire(request: CachedRequest, ask: () => Promise<Hold>): Promise<Hold>;
  /** Takes what an answer shows of the lock. The request for that answer was sent at `sinceMs`. */
  note(reply: Reply, sinceMs: number): void;
  /** A read that was sent at `sinceMs` shows that no other process waits. Without events, rely on it until then. */
  noneWaits(sinceMs: number, reliedUntilMs: number): void;
}

/** What a cached lock needs of its process. */
export interface SeatCacheContext {
  readonly process: string;
  readonly clock: Clock;
  readonly report: Report;
  readonly closing: AbortSignal;
  /** The instant since which the change stream has been open without a gap; `Infinity` while it is not open. */
  gaplessSinceMs(): number;
  /** Gives back an idle seat. */
  returnIdle(idle: Seat): void;
  /** `isInUse` or `hasSeats` of this lock may have changed. */
  changed(lock: Cached): void;
  /** A caller begins or ends its use of a seat. */
  used(): void;
}

/**
 * Whether another caller may get a hold of this seat: nobody has asked for its release, and enough of its lease is left.
 * Past the deadline of the seat, this loses the seat.
 */
export const mayServeAnother = (seat: Seat): boolean =>
  !seat.wasAskedToRelease && isEnough(seat.checkRemainingMs(), seat.grant.terms);

/**
 * Returns the timeout error of a request that has not reached the store. Reports the timeout if the request has waited.
 */
export function localTimeout(
  { name, seats }: Pick<Cached, 'name' | 'seats'>,
  report: Report,
  details: { readonly holders: readonly LeaseInfo[]; readonly waitedMs: number; readonly place: number },
): AcquireTimeoutError {
  const { waitedMs } = details;
  // The request has no attempt id yet.
  if (waitedMs > 0) report('timeout', { lockName: name, kind: seats.kind, id: newAttemptId(), waitedMs });
  return new AcquireTimeoutError(name, details);
}
