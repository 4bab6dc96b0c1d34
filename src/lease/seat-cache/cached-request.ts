import type { Clock } from '../../clock.js';
import { AcquireTimeoutError } from '../../errors.js';
import type { Report } from '../../events.js';
import type { ParsedKeeping } from '../../options/request-options.js';
import type { Demand } from '../../protocol/operation.js';
import type { LeaseInfo } from '../../protocol/replies/snapshot.js';
import type { Reply } from '../../protocol/replies/reply.js';
import type { KindRules } from '../../protocol/kind-rules.js';
import { isEnough } from '../deadline.js';
import { newAttemptId } from '../ids.js';
import type { Hold } from '../holding/hold.js';
import type { Seat, SeatKeeper } from '../holding/seat.js';
import type { LocalRequest } from './local-queue.js';

export interface CachedRequest extends LocalRequest, ParsedKeeping {
  readonly demand: Demand;
}

/** The fields of a seat that are compared with a read of its lock. */
export type OwnSeat = Pick<Seat, 'id' | 'isOpen' | 'wasAskedToRelease'>;

/** One lock whose seats this process may keep, as the cache and the requester see it. */
export interface Cached extends SeatKeeper {
  readonly name: string;
  readonly rules: KindRules;
  readonly keepMs: number;
  /** Whether the object has state, so that the cache must remember the object. */
  readonly isInUse: boolean;
  /** Whether this process has a seat, idle or in use. */
  readonly hasSeats: boolean;
  readonly ownSeats: readonly OwnSeat[];
  /**
   * Returns a hold of a kept seat, or of a seat that the server grants.
   *
   * @param ask - Asks the server; called at most once.
   */
  acquire(request: CachedRequest, ask: () => Promise<Hold>): Promise<Hold>;
  /** Called with an answer that shows the lock. The request for that answer was sent at `sinceMs` or later. */
  note(reply: Reply, sinceMs: number): void;
  /**
   * Called when a read that was sent at `sinceMs` shows that no other process waits.
   *
   * @param reliedUntilMs - Until when the process relies on the read. This limit does not apply while a change stream
   *   is open without a gap since `sinceMs`.
   */
  noneWaits(sinceMs: number, reliedUntilMs: number): void;
}

export interface SeatCacheContext {
  readonly process: string;
  readonly clock: Clock;
  readonly report: Report;
  readonly closing: AbortSignal;
  /** The instant since which the change stream has been open without a gap; `Infinity` while it is not open. */
  gaplessSinceMs(): number;
  returnIdle(idle: Seat): void;
  /** Called when `isInUse` or `hasSeats` of this lock may have changed. */
  changed(lock: Cached): void;
  /** Called when callers begin to use a seat, and when the last hold of a seat that may be kept has been released. */
  used(): void;
}

/**
 * Whether another caller may get a hold of this seat: nobody has asked for its release, and at least a third of its
 * lease is left. Side effects: a seat whose deadline has passed ends as lost, and the server is asked to confirm a
 * doubtful seat.
 */
export const mayServeAnother = (seat: Seat): boolean =>
  !seat.wasAskedToRelease && isEnough(seat.checkRemainingMs(), seat.grant.durations);

/**
 * Returns the timeout error of a request that was not sent to the store. Reports the timeout if the request has waited.
 */
export function localTimeout(
  { name, rules }: Pick<Cached, 'name' | 'rules'>,
  { clock, report }: Pick<SeatCacheContext, 'clock' | 'report'>,
  details: { readonly holders: readonly LeaseInfo[]; readonly waitedMs: number; readonly place: number },
): AcquireTimeoutError {
  const { waitedMs } = details;
  // The request has no attempt id yet, so the event gets a new id.
  if (waitedMs > 0) {
    report('timeout', { lockName: name, kind: rules.kind, id: newAttemptId(clock), waitedMs });
  }
  return new AcquireTimeoutError(name, details);
}
