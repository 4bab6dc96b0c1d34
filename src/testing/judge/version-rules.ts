import type { Lease, Waiter } from '../../protocol/lock-document.js';
import {
  grantsHaveTheLeaseOfTheirWaiter,
  leasesLastOneLease,
  nobodyIsRevived,
  placesLastOneLease,
} from './lease-lengths.js';
import { checkLegal, checkNoSeatStaysEmpty, permitsOf } from './legality.js';
import { givenIn, leaseOf, newcomersIn, stayingIn, wrong } from './step.js';
import type { Invariant, Rule, Step, Wrong } from './step.js';
import { lastTokenOf, overlapIn } from './token-blocks.js';

export function* wrongIn(step: Step): Iterable<Wrong> {
  for (const rule of RULES) yield* rule(step);
}

function* legal({ after }: Step): Iterable<Wrong> {
  for (const check of [checkLegal, checkNoSeatStaysEmpty]) {
    try {
      check(after);
    } catch (error) {
      const [, invariant = 'S1', what] = /^(S1|L1|L2): (.*)$/.exec((error as Error).message) ?? [];
      yield wrong(invariant as Invariant, what ?? String(error));
    }
  }
}

/**
 * After the limit was lowered, more permits may be held than the limit allows. But a grant must not leave more permits
 * held than the limit allows.
 */
function* noGrantExceedsTheLimit(step: Step): Iterable<Wrong> {
  const { before, after } = step;
  if (after.limit === undefined || newcomersIn(step).length === 0) return;
  // An update of several operations may first grant a lease and then lower the limit.
  const limit = Math.max(after.limit, before.limit ?? 0);
  const permits = permitsOf(after.leases);
  if (permits > limit) yield wrong('S1', `${permits} permits of ${limit} are held after a grant`);
}

function* tokensRise(step: Step): Iterable<Wrong> {
  const { before, after, lastToken } = step;
  const given = givenIn(step);
  for (const { id, token } of given) {
    if (token <= lastToken) yield wrong('S3', `${id} has token ${token} after ${lastToken}`);
    if (!Number.isSafeInteger(token)) yield wrong('S3', `token ${token} of ${id} is no exact number`);
  }
  for (const lease of after.leases) {
    const last = lastTokenOf(lease);
    if (last > after.fence) yield wrong('S3', `the fence is ${after.fence}, ${lease.id} has token ${last}`);
  }
  const [one, other] = overlapIn(given) ?? [];
  if (one !== undefined && other !== undefined)
    yield wrong('S3', `${one.id} and ${other.id} have one token, ${other.token}`);
  if (after.fence < before.fence) {
    yield wrong('S3', `the fence falls from ${before.fence} to ${after.fence}`);
  }
}

function* purgeAtNeverFalls({ purgeAtMs }: Step): Iterable<Wrong> {
  if (purgeAtMs.after >= purgeAtMs.before) return;
  yield wrong('S3', `purgeAt is lowered from ${purgeAtMs.before} to ${purgeAtMs.after}`);
}

function* purgeAtCoversAllExpiries({ after, purgeAtMs }: Step): Iterable<Wrong> {
  const members = [...after.leases, ...after.queue.map(([, waiter]) => waiter)];
  const latestMs = members.reduce((ms, { expiresAt }) => Math.max(ms, expiresAt.getTime()), 0);
  if (latestMs > purgeAtMs.after)
    yield wrong('S3', `purgeAt ${purgeAtMs.after} is before an expiry at ${latestMs}`);
}

/**
 * Whether the leader's candidate may return at the server time `ms`. The candidate may return if the lease is not
 * ending and the transition of the election has begun. The transition is the last `transitionMs` of the leader's lease.
 */
const isSilent = ({ ending, expiresAt, transitionMs = 0 }: Lease, ms: number): boolean =>
  ending !== true && expiresAt.getTime() - transitionMs <= ms;

/**
 * Whether a candidate returns in the transition of the election after its own term. The candidate then enters ahead of
 * all waiters, and the old term ends.
 */
const followsItself = ({ before }: Step, { candidateId, acquiredAt }: Lease): boolean =>
  candidateId !== undefined &&
  before.leases.some(
    (leader) => leader.candidateId === candidateId && isSilent(leader, acquiredAt.getTime()),
  );

/**
 * Whether the leader's candidate may have returned and left within this update. The only trace is the word about the
 * attempt that left. If that attempt was not queued before, its candidate is unknown and may be the leader's.
 */
function cameBackAndLeft({ before, wake, overBeforeMs }: Step, leader: Lease): boolean {
  if (leader.candidateId === undefined || !isSilent(leader, overBeforeMs)) return false;
  const queued = new Map(before.queue);
  return [...wake.matchAll(/ -([^:]+):[1-9]/g)].some(([, id = '']) => {
    const { candidateId } = queued.get(id) ?? leader;
    return candidateId === leader.candidateId;
  });
}

/** Whether a leader that gave up its term in this update may have named the candidate of this lease. */
const mayBeNamed = ({ before: { leases }, wake }: Step, { candidateId }: Lease): boolean =>
  candidateId !== undefined && leases.some(({ id, token }) => wake.includes(` -${id}:${token}`));

/** Whether the place of a waiter lapsed, and a copy of its request then queued it again, within one update. */
const isQueuedAnew = (was: Waiter, is: Waiter | undefined, overBeforeMs: number): boolean =>
  is !== undefined && is.since > was.since && was.expiresAt.getTime() <= overBeforeMs;

/**
 * The queue keeps its order. No attempt is admitted before a waiter that was ahead of it and still waits. Two
 * candidates are exempt from this: one that returns to its own term, and one that the leader may have named. Attempts
 * that enter together get their tokens in the order of the queue.
 */
function* firstComeFirstServed(step: Step): Iterable<Wrong> {
  const { before, after, overBeforeMs } = step;
  const queued = new Map(after.queue);
  const placeOf = new Map<string, number>();
  for (const [place, [id, waiter]] of before.queue.entries()) {
    if (!isQueuedAnew(waiter, queued.get(id), overBeforeMs)) placeOf.set(id, place);
  }
  const place = (id: string): number => placeOf.get(id) ?? Infinity;
  for (const [index, [id]] of after.queue.entries()) {
    const ahead = after.queue[index - 1]?.[0];
    if (ahead !== undefined && place(ahead) > place(id))
      yield wrong('L3', `${ahead} passes ${id} in the queue`);
  }
  const [first] = after.queue.flatMap(([id]) => (placeOf.has(id) ? [id] : []));
  const newcomers = newcomersIn(step);
  for (const newcomer of newcomers) {
    const { id } = newcomer;
    if (followsItself(step, newcomer) || mayBeNamed(step, newcomer)) continue;
    if (first !== undefined && place(first) < place(id)) {
      yield wrong('L3', `${id} overtakes ${first}, by an update that says:${step.wake}`);
    }
  }
  for (const one of newcomers) {
    const passed = newcomers.find(({ id, token }) => place(id) < place(one.id) && token > one.token);
    if (passed !== undefined) yield wrong('L3', `${one.id} has a lower token than ${passed.id}, ahead of it`);
  }
}

/** A new lease expires after `acquiredAt`, the server's time of its grant: a waiter whose place lapsed gets no seat. */
function* nobodyDeadComesIn(step: Step): Iterable<Wrong> {
  for (const { id, expiresAt, acquiredAt } of newcomersIn(step)) {
    if (expiresAt <= acquiredAt) yield wrong('L3', `${id} comes in although its time was over`);
  }
}

function* nobodyOvertakesAnUpgrade(step: Step): Iterable<Wrong> {
  const waiting = stayingIn(step).find(
    ([was, is]) => was.upgrading === true && is.upgrading === true && was.change === is.change,
  );
  if (waiting === undefined) return;
  for (const { id } of newcomersIn(step))
    yield wrong('L3', `${id} overtakes the upgrade of ${waiting[0].id}`);
}

const NEVER_CHANGES = [
  ...(['process', 'leaseMs', 'permits', 'label', 'why', 'keeps'] as const),
  ...(['candidateId', 'value', 'transitionMs'] as const),
];

function* leasesStayWhatTheyAre(step: Step): Iterable<Wrong> {
  for (const [was, is] of stayingIn(step)) {
    const { id } = was;
    for (const field of NEVER_CHANGES) {
      if (was[field] !== is[field]) yield wrong('S5', `${field} of ${id} changes`);
    }
    const isSameGrant = was.token === is.token;
    if (was.mode !== is.mode && isSameGrant) yield wrong('S5', `${id} is moved without a new token`);
    if (isSameGrant && was.expiresAt > is.expiresAt) yield wrong('S5', `the expiry of ${id} moves back`);
    if ((was.change ?? 0) > (is.change ?? 0)) yield wrong('S5', `the count of changes of ${id} falls`);
  }
}

/**
 * A lease that leaves before its expiry is named by a word: it was released, or it was revoked and its process was
 * told. A leader's lease may also leave without a word, if the same candidate has returned.
 */
function* nobodyLeavesUnnamed(step: Step): Iterable<Wrong> {
  const { before, after, wake, overBeforeMs } = step;
  if (newcomersIn(step).some((newcomer) => followsItself(step, newcomer))) return;
  for (const lease of before.leases) {
    const { id, expiresAt } = lease;
    if (expiresAt.getTime() <= overBeforeMs || leaseOf(after, id) !== undefined) continue;
    if (wake.includes(` -${id}:`) || wake.includes(`:${id}:0`) || cameBackAndLeft(step, lease)) continue;
    yield wrong('S5', `${id} loses its seat, which was not over, to an operation that does not name it`);
  }
}

/**
 * An update that queues a request of another process behind a kept seat, or that makes an upgrade wait, tells the
 * keeper by a word. Without the word, the keeper may learn of the waiter late.
 */
function* keepersAreTold(step: Step): Iterable<Wrong> {
  const { before, after, wake } = step;
  const newcomers = after.queue.filter(([id]) => !before.queue.some(([known]) => known === id));
  const upgrade = stayingIn(step).find(([was, is]) => was.upgrading !== true && is.upgrading === true)?.[1];
  for (const [was, { id, process, token, keeps = 0 }] of stayingIn(step)) {
    if (keeps === 0 || was.token !== token || wake.includes(` ${process}:${id}:-1`)) continue;
    // A process knows of its own requests, so the update need not tell the process of them.
    const other = newcomers.find(([, waiter]) => waiter.process !== process);
    const waiting = other?.[0] ?? upgrade?.id;
    if (waiting !== undefined) yield wrong('L2', `${waiting} waits, and ${id}, which is kept, is not told`);
  }
}

const RULES: readonly Rule[] = [
  legal,
  noGrantExceedsTheLimit,
  tokensRise,
  purgeAtNeverFalls,
  purgeAtCoversAllExpiries,
  firstComeFirstServed,
  nobodyDeadComesIn,
  grantsHaveTheLeaseOfTheirWaiter,
  placesLastOneLease,
  leasesLastOneLease,
  nobodyIsRevived,
  nobodyOvertakesAnUpgrade,
  leasesStayWhatTheyAre,
  nobodyLeavesUnnamed,
  keepersAreTold,
];
