import type { Lease } from '../../protocol/lock-document.js';
import { leaseOf, newcomersIn, stayingIn, wrong } from './step.js';
import type { Step, Wrong } from './step.js';

const transitionOf = ({ transitionMs = 0 }: Lease): number => transitionMs;

/**
 * A new lease has the `leaseMs` of its waiter; in an election, `transitionMs` is added once. The expiry, without
 * `transitionMs`, is at most the later of two times: the expiry of the place, and `leaseMs` after `acquiredAt`.
 */
export function* grantsHaveTheLeaseOfTheirWaiter(step: Step): Iterable<Wrong> {
  const waiters = new Map(step.before.queue);
  for (const lease of newcomersIn(step)) {
    const waiter = waiters.get(lease.id);
    // `leasesLastOneLease` judges the lease of an attempt that did not wait.
    if (waiter === undefined) continue;
    const addedMs = transitionOf(lease);
    const asked = `${waiter.leaseMs} ms and a transition of ${addedMs} ms`;
    if (lease.leaseMs !== waiter.leaseMs + addedMs)
      yield wrong('L3', `${lease.id} waited for ${asked}, and its lease has ${lease.leaseMs} ms`);
    const latestMs = Math.max(waiter.expiresAt.getTime(), Number(lease.acquiredAt) + waiter.leaseMs);
    const overMs = lease.expiresAt.getTime() - addedMs - latestMs;
    if (overMs > 0) yield wrong('L3', `${lease.id} waited for ${asked}, and counts on ${overMs} ms more`);
  }
}

/** A new or later expiry of a place is at most `leaseMs` after the update that sets it. */
export function* placesLastOneLease({ before, after, overBeforeMs }: Step): Iterable<Wrong> {
  const waiters = new Map(before.queue);
  for (const [id, { expiresAt, leaseMs }] of after.queue) {
    const was = waiters.get(id)?.expiresAt ?? new Date(0);
    const overMs = expiresAt.getTime() - leaseMs - overBeforeMs;
    if (expiresAt > was && overMs > 0) yield wrong('L3', `${id} waits for ${overMs} ms more than its lease`);
  }
}

/**
 * A new or later expiry of a lease is at most `leaseMs` after the update that sets it. `leaseMs` of a leader has the
 * transition in it. `grantsHaveTheLeaseOfTheirWaiter` judges the leases of attempts that waited.
 */
export function* leasesLastOneLease({ before, after, overBeforeMs }: Step): Iterable<Wrong> {
  const waited = new Set(before.queue.map(([id]) => id));
  for (const { id, expiresAt, leaseMs } of after.leases) {
    const was = leaseOf(before, id);
    if (was === undefined ? waited.has(id) : expiresAt <= was.expiresAt) continue;
    const overMs = expiresAt.getTime() - leaseMs - overBeforeMs;
    if (overMs > 0) yield wrong('L1', `${id} has ${leaseMs} ms and counts on ${overMs} ms more`);
  }
}

const grantOf = ({ firstToken, token }: Lease): number => firstToken ?? token;

/**
 * No update extends a lease that was over. An extension lasts for `leaseMs` from the update, so the new expiry tells
 * the server's time of the update where no other clock does.
 */
export function* nobodyIsRevived(step: Step): Iterable<Wrong> {
  for (const [was, is] of stayingIn(step)) {
    if (grantOf(was) !== grantOf(is) || was.expiresAt >= is.expiresAt) continue;
    const toldMs = is.expiresAt.getTime() - is.leaseMs;
    const updatedMs = Math.max(step.earliestMs, Math.min(step.overBeforeMs, toldMs));
    if (was.expiresAt.getTime() > updatedMs) continue;
    yield wrong('S5', `${is.id} was over at ${was.expiresAt.toISOString()} and gets a later expiry`);
  }
}
