// Folder `lease`: what a process does for one request and its hold: acquiring, waiting, holding, changing the mode, and
// keeping seats. This file says until when a process relies on a lease.

import { after } from '../clock.js';
import type { Clock, Moment } from '../clock.js';
import type { LeaseTerms } from '../options/provider-options.js';
import { countedLeftMs } from '../protocol/lock-document.js';
import type { Lease } from '../protocol/lock-document.js';

/**
 * The earliest instant at which a lease in an answer can end, on the clock of this process. For a leader, this is the
 * end of the term. The transition of the election, the last part of the lease, comes after it.
 *
 * The server reads its clock after the process has sent the request. So the lease lasts at least for the time that the
 * server saw left, counted from `sentAt`. How long the answer took does not matter.
 *
 * @param nowMs - The server's time in the answer.
 * @param sentAt - When the request for the answer was sent.
 */
export const earliestEnd = (lease: Lease, nowMs: number, sentAt: Moment): Moment =>
  after(sentAt, countedLeftMs(lease, nowMs));

/**
 * The deadline of a lease or a place that lasts until `end`: the clock allowance before `end`. The allowance covers how
 * far the server's clock may get ahead of this process's clock until then (B1, B2).
 */
export const deadlineBefore = (end: Moment, { clockAllowanceMs }: LeaseTerms): Moment =>
  after(end, -clockAllowanceMs);

/** The deadline of a lease that an answer shows. */
export const deadlineOf = (lease: Lease, nowMs: number, sentAt: Moment, terms: LeaseTerms): Moment =>
  deadlineBefore(earliestEnd(lease, nowMs, sentAt), terms);

/**
 * Whether `leftMs` is at least a third of the lease. If it is less, no further caller gets a hold of the seat before an
 * extension.
 */
export const isEnough = (leftMs: number, { leaseMs }: LeaseTerms): boolean => leftMs >= leaseMs / 3;

/**
 * Whether at least a third of the lease is left until `deadline`. If not, the process extends the granted lease before
 * a caller gets the hold (E7).
 */
export const leavesEnough = (deadline: Moment, clock: Clock, terms: LeaseTerms): boolean =>
  isEnough(deadline.ms - clock.nowMs(), terms);

/**
 * A smaller drift of the wall clock from the monotonic clock does not count as a suspension: the wall clock may be
 * slewed, and the two clocks are not read at the same instant.
 */
const MIN_SUSPENSION_MS = 100;

/**
 * Whether the wall clock has run ahead of the monotonic one by more than the larger of the clock allowance and
 * `MIN_SUSPENSION_MS`. The time counts from the sending of the request whose answer gave `deadline`. Either the process
 * was suspended and its monotonic clock stood still (E19), or the wall clock was set ahead.
 */
export const wasSuspended = (deadline: Moment, clock: Clock, { clockAllowanceMs }: LeaseTerms): boolean =>
  clock.wallMs() - clock.nowMs() - deadline.wallAheadMs > Math.max(clockAllowanceMs, MIN_SUSPENSION_MS);
