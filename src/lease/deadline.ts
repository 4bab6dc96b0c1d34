import { after } from '../clock.js';
import type { Clock, Moment } from '../clock.js';
import type { LeaseTerms } from '../options/provider-options.js';
import { countedLeftMs } from '../protocol/lock-document.js';
import type { Lease } from '../protocol/lock-document.js';

/**
 * The earliest end of a lease that an answer shows, by the clock of this process.
 *
 * The server read its clock after the request was sent. So the lease lasts at least until the sending plus the time that
 * the server saw left, however long the answer took.
 *
 * @param nowMs - The server's time in the answer.
 */
export const earliestEnd = (lease: Lease, nowMs: number, sentAt: Moment): Moment =>
  after(sentAt, countedLeftMs(lease, nowMs));

/**
 * Until when a process counts on a lease or a place that lasts until `end`. The allowance covers how far the server's
 * clock may get ahead of this one meanwhile (B1).
 */
export const deadlineBefore = (end: Moment, { clockAllowanceMs }: LeaseTerms): Moment =>
  after(end, -clockAllowanceMs);

/** Until when a process counts on a lease that an answer shows. */
export const deadlineOf = (lease: Lease, nowMs: number, sentAt: Moment, terms: LeaseTerms): Moment =>
  deadlineBefore(earliestEnd(lease, nowMs, sentAt), terms);

/** Whether a grant leaves its caller a third of the lease; a grant with less is extended first (E7). */
export const leavesEnough = (deadline: Moment, clock: Clock, { leaseMs }: LeaseTerms): boolean =>
  deadline.ms - clock.nowMs() >= leaseMs / 3;
