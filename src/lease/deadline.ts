// Folder `lease`: what a process does for one request and its hold: acquiring, waiting, holding, changing the mode, and
// keeping seats. This file computes until when a process relies on a lease.

import { after } from '../clock.js';
import type { Clock, Moment } from '../clock.js';
import type { LeaseDurations } from '../options/provider-options.js';
import { countedLeftMs } from '../protocol/lock-document.js';
import type { Lease } from '../protocol/lock-document.js';

/**
 * The earliest instant, on the clock of this process, at which a lease in an answer can end. For a leader, this is the
 * end of the term. The transition of the election is the last part of the lease and comes after that instant.
 *
 * The server reads its clock after the process has sent the request. So the remaining time in the answer, counted from
 * `sentAt`, ends before the lease does, however long the answer took.
 *
 * @param nowMs - The server's time in the answer.
 * @param sentAt - When the request for the answer was sent.
 */
export const earliestEnd = (lease: Lease, nowMs: number, sentAt: Moment): Moment =>
  after(sentAt, countedLeftMs(lease, nowMs));

/**
 * The deadline of a lease or a place that lasts until `end`: the clock allowance before `end`. So the lease or place
 * is live until its deadline, even if the server's clock gains the allowance on the clock of this process meanwhile
 * (bounds B1 and B2 in docs/guarantees.md).
 */
export const deadlineBefore = (end: Moment, { clockAllowanceMs }: LeaseDurations): Moment =>
  after(end, -clockAllowanceMs);

export const deadlineOf = (lease: Lease, nowMs: number, sentAt: Moment, durations: LeaseDurations): Moment =>
  deadlineBefore(earliestEnd(lease, nowMs, sentAt), durations);

/**
 * The deadline of a lease that an acknowledged update has extended, and that a local read has shown after it. The read
 * may also show a later extension that no majority has acknowledged, and a failover may roll that extension back (S2).
 * So the deadline is never later than the acknowledged update alone allows.
 *
 * @param readAt - When the read was sent.
 * @param updatedAt - When the update was sent.
 */
export function extendedDeadline(
  lease: Lease,
  nowMs: number,
  readAt: Moment,
  updatedAt: Moment,
  durations: LeaseDurations,
): Moment {
  const shown = deadlineOf(lease, nowMs, readAt, durations);
  const { leaseMs, transitionMs = 0 } = lease;
  const acknowledged = deadlineBefore(after(updatedAt, leaseMs - transitionMs), durations);
  return acknowledged.ms < shown.ms ? acknowledged : shown;
}

/** Whether `leftMs` is at least a third of the lease: enough for a new hold to begin without an extension. */
export const isEnough = (leftMs: number, { leaseMs }: LeaseDurations): boolean => leftMs >= leaseMs / 3;

/**
 * Whether at least a third of the lease is left until `deadline`. If not, the process sends an extension of the granted
 * lease and awaits the answer before the caller gets the hold (E7). The one exception: the time of the request is up,
 * and the store does not confirm the extension within `CANCEL_GRACE_MS` after that.
 */
export const leavesEnough = (deadline: Moment, clock: Clock, durations: LeaseDurations): boolean =>
  isEnough(deadline.ms - clock.nowMs(), durations);

/**
 * The wall clock may run ahead of the monotonic clock by this time without a suspension: the wall clock may be slewed,
 * and the two clocks are not read at the same instant.
 */
const MIN_SUSPENSION_MS = 100;

/**
 * Whether the process may have been suspended since it sent the request whose answer gave `deadline`. The sign is that
 * the wall clock has run ahead of the monotonic clock by more than the clock allowance and more than
 * `MIN_SUSPENSION_MS`: the monotonic clock may stand still during a suspension (E19). A wall clock that was set ahead
 * gives the same sign.
 */
export const wasSuspended = (deadline: Moment, clock: Clock, { clockAllowanceMs }: LeaseDurations): boolean =>
  clock.wallMs() - clock.nowMs() - deadline.wallAheadMs > Math.max(clockAllowanceMs, MIN_SUSPENSION_MS);
