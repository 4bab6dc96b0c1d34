// Folder `lease`: what this process does for one request and its hold. This is the same for every kind of lock:
// acquiring, waiting, holding, changing the mode, and keeping seats. This file says until when a process relies on a
// lease.

import { after } from '../clock.js';
import type { Clock, Moment } from '../clock.js';
import type { LeaseTerms } from '../options/provider-options.js';
import { countedLeftMs } from '../protocol/lock-document.js';
import type { Lease } from '../protocol/lock-document.js';

/**
 * The earliest instant at which a lease in an answer can end, on the clock of this process.
 *
 * The server reads its clock after the process has sent the request. So the lease lasts at least for the time that the
 * server saw left, counted from `sentAt`. How long the answer took does not matter.
 *
 * @param nowMs - The server's time in the answer.
 */
export const earliestEnd = (lease: Lease, nowMs: number, sentAt: Moment): Moment =>
  after(sentAt, countedLeftMs(lease, nowMs));

/**
 * The deadline of a lease or a place that lasts until `end`. The process relies on the lease or place only until the
 * deadline: the clock allowance in between covers how far the server's clock may get ahead of this clock in the
 * meantime (B1).
 */
export const deadlineBefore = (end: Moment, { clockAllowanceMs }: LeaseTerms): Moment =>
  after(end, -clockAllowanceMs);

/** The deadline of a lease that an answer shows. */
export const deadlineOf = (lease: Lease, nowMs: number, sentAt: Moment, terms: LeaseTerms): Moment =>
  deadlineBefore(earliestEnd(lease, nowMs, sentAt), terms);

/**
 * Whether `leftMs` is at least a third of the lease. With less, the process extends the lease first, or does not pass
 * its kept seat on.
 */
export const isEnough = (leftMs: number, { leaseMs }: LeaseTerms): boolean => leftMs >= leaseMs / 3;

/**
 * Whether enough of the lease is left until `deadline`. If less is left, the process extends the granted lease before a
 * caller gets it (E7).
 */
export const leavesEnough = (deadline: Moment, clock: Clock, terms: LeaseTerms): boolean =>
  isEnough(deadline.ms - clock.nowMs(), terms);

/**
 * Without a suspension, the wall clock and the monotonic clock drift apart by less than this, even if the wall clock is
 * slewed and the two clocks are not read at the same instant.
 */
const MIN_SUSPENSION_MS = 100;

/**
 * Whether the wall clock has run ahead of the monotonic one since the deadline was counted. Then the process was
 * suspended, and the monotonic clock may have stood still meanwhile (E19). A wall clock set back shows nothing.
 */
export const wasSuspended = (deadline: Moment, clock: Clock, { clockAllowanceMs }: LeaseTerms): boolean =>
  clock.wallMs() - clock.nowMs() - deadline.wallAheadMs > Math.max(clockAllowanceMs, MIN_SUSPENSION_MS);
