import { isDeepStrictEqual } from 'node:util';

import type { Lease, Waiter } from '../../src/protocol/lock-document.js';
import type { Exchange, Operation } from '../../src/protocol/operation.js';
import { checkLegal, checkNoSeatStaysEmpty, permitsOf } from '../../src/testing/judge/legality.js';
import { heirWaiting, mayOvertake, mayHaveMadeRoom } from './successions.js';
import { lastTokenOf, overlapIn, reservedBy } from '../../src/testing/judge/token-blocks.js';
import type { Update } from './update.js';

/**
 * Judges one update by the invariants alone, without knowledge of how an update works. Throws an error that names the
 * broken invariant.
 *
 * @param lastToken - The highest token given under this name so far; the result is the one to go on with.
 */
export function judge(update: Update, lastToken: number): number {
  checkLegal(update.after);
  noGrantExceedsTheLimit(update);
  tokensRise(update, lastToken);
  onlyTheNamedAreTouched(update);
  theLimitIsTouchedOnlyByName(update);
  firstComeFirstServed(update);
  nobodyOvertakesAnUpgrade(update);
  noTryWaits(update);
  checkNoSeatStaysEmpty(update.after);
  noHeirWaits(update);
  return Math.max(lastToken, update.after.fence);
}

const isLive = ({ expiresAt }: Lease | Waiter, nowMs: number): boolean => expiresAt.getTime() > nowMs;

/** The leases that did not exist before the update, or had expired. */
export const newcomersIn = ({ before, nowMs, after }: Update): readonly Lease[] =>
  after.leases.filter(({ id }) => !before.leases.some((held) => held.id === id && isLive(held, nowMs)));

/** S1: held permits may exceed a limit that was lowered, but not after a new grant. */
function noGrantExceedsTheLimit(update: Update): void {
  const { before, operations, after } = update;
  if (after.limit === undefined || newcomersIn(update).length === 0) return;
  // Without an earlier document, the first operation sets the limit.
  const meanwhile =
    before.limit === undefined ? operations.map(limitOf) : [before.limit, ...limitsNamed(update)];
  const limits = [after.limit, ...(operations.length > 1 ? meanwhile : [])];
  const permits = permitsOf(after.leases);
  check(permits <= Math.max(...limits), `S1: ${permits} permits of ${after.limit}`);
}

/**
 * S3: every grant's token is above every token before it, and those of one update rise in the order of the queue; so do
 * the tokens that they reserve.
 */
function tokensRise(update: Update, lastToken: number): void {
  const { before, operations, after } = update;
  const given = after.leases.filter(
    ({ id, token }) => !before.leases.some((held) => held.id === id && held.token === token),
  );
  const above = Math.max(lastToken, before.fence);
  for (const lease of given) {
    const { token } = lease;
    check(token > above, `S3: token ${token} after ${above}`);
    check(Number.isSafeInteger(token), `S3: token ${token} is no exact number`);
    check(
      lastTokenOf(lease) <= after.fence,
      `S3: token ${lastTokenOf(lease)} is not kept, the fence is ${after.fence}`,
    );
  }
  check(overlapIn(given) === undefined, 'S3: two have the same token');
  const highest = Math.max(before.fence, ...raisedIn(update), ...given.map(lastTokenOf));
  // If several are admitted together, each reserves as many tokens as the one with the largest reserve.
  const unused = Math.max(0, ...given.map(reservedBy));
  const isExact = operations.length <= 1 && before.fence > 0;
  check(
    !isExact || (after.fence >= highest && after.fence <= highest + unused),
    `S3: the fence is ${after.fence}, not ${highest}`,
  );
  check(after.fence === 0 || after.fence >= lastToken, 'S3: the fence fell');
  const placeOf = placesIn(update);
  const admitted = newcomersIn(update).filter(({ id }) => exchangesOf(operations, id, 0).length === 0);
  for (const one of admitted) {
    for (const other of admitted) {
      if (isBehind(placeOf(one.id), placeOf(other.id))) {
        check(one.token > other.token, `S3: ${one.id} came after ${other.id} and has the lower token`);
      }
    }
  }
}

/** The tokens to which live leases have lifted the fence. */
const raisedIn = ({ before, operations, nowMs }: Update): readonly number[] =>
  operations.flatMap((operation) => {
    if (operation.type !== 'raiseFence') return [];
    return before.leases.some((lease) => lease.id === operation.id && isLive(lease, nowMs))
      ? [operation.token]
      : [];
  });

/** S5: a live lease or place stays as it is, unless an operation of this update names it. */
function onlyTheNamedAreTouched(update: Update): void {
  const { before, operations, nowMs, after } = update;
  for (const lease of before.leases) {
    const { id } = lease;
    if (!isLive(lease, nowMs) || isNamed(operations, id, ['leave', 'evict'])) continue;
    const kept = after.leases.find((held) => held.id === id);
    if (kept === undefined && mayHaveMadeRoom(update, id, lease)) continue;
    if (kept === undefined) throw new Error(`S5: ${id} lost its seat to an operation that does not name it`);
    const marks = isNamed(operations, id, ['ask']) ? ['ending', 'endingWhy'] : [];
    const calls = operations.some(({ type }) => type === 'call') ? ['called'] : [];
    const extension = isNamed(operations, id, ['extend']) ? ['expiresAt'] : [];
    const exchanges = exchangesOf(operations, id, lease.change ?? 0);
    checkSame(
      lease,
      kept,
      [...marks, ...calls, ...extension, ...movedBy(lease, kept, exchanges)],
      `S5: ${id} changed`,
    );
  }
  for (const [id, waiter] of before.queue) {
    if (!isLive(waiter, nowMs) || isNamed(operations, id, ['leave', 'cancel', 'evict'])) continue;
    if (operations.some((operation) => isTooBigFor(waiter, operation))) continue;
    const kept =
      after.queue.find(([queued]) => queued === id)?.[1] ?? after.leases.find((held) => held.id === id);
    if (kept === undefined && mayHaveMadeRoom(update, id, waiter)) continue;
    if (kept === undefined) throw new Error(`S5: ${id} lost its place to an operation that does not name it`);
    const grant =
      'token' in kept ? ['since', 'id', 'token', 'acquiredAt', 'ending', 'endingWhy', 'called'] : [];
    const isMoved = 'token' in kept && exchangesOf(operations, id, 0).length > 0;
    const extension = isNamed(operations, id, ['extend']) ? ['expiresAt'] : [];
    const moved = isMoved ? ['mode', 'change', 'upgrading', 'firstToken'] : [];
    const was = 'token' in kept ? withTransition(waiter) : waiter;
    checkSame(was, kept, [...grant, ...extension, ...moved], `S5: the place of ${id} changed`);
  }
}

/** A grant adds the transition of an election to the lease, and no more. */
const withTransition = (waiter: Waiter): Waiter => {
  const { leaseMs, expiresAt, transitionMs = 0 } = waiter;
  return {
    ...waiter,
    leaseMs: leaseMs + transitionMs,
    expiresAt: new Date(expiresAt.getTime() + transitionMs),
  };
};

const isTooBigFor = ({ permits = 0 }: Waiter, operation: Operation): boolean =>
  setsLimit(operation) && permits > limitOf(operation);

/** Whether an operation replaces the stored limit by its own in any case. */
export const setsLimit = (operation: Operation): boolean =>
  operation.type === 'resize' || ('request' in operation && operation.request.setsLimit === true);

/** The limit that an operation names. */
function limitOf(operation: Operation): number {
  if (operation.type === 'resize') return operation.limit;
  return 'request' in operation ? (operation.request.limit ?? 0) : 0;
}

/**
 * The fields of a lease that these exchanges may have changed. `exchanges` has only those that are newer than the last
 * change of the lease. Without any, only a pending upgrade may have been granted. A new mode comes with a new token.
 */
function movedBy(lease: Lease, kept: Lease, exchanges: readonly Exchange[]): readonly string[] {
  const { firstToken = lease.token } = lease;
  check([undefined, firstToken].includes(kept.firstToken), `${lease.id} has another first token`);
  if (kept.mode !== lease.mode) {
    const aims = exchanges.map(({ to }) => to);
    const isDue = kept.mode === 'write' && lease.upgrading === true;
    const isAsked = isDue || aims.some((to) => to === kept.mode);
    check(
      isAsked && lease.mode !== 'read',
      `S5: ${lease.id} changes to ${kept.mode ?? ''} without an operation`,
    );
    check(kept.token !== lease.token, `S3: ${lease.id} is moved without a new token`);
    const changed = exchanges.length > 0 ? ['change'] : [];
    return ['mode', 'token', 'firstToken', 'acquiredAt', 'upgrading', ...changed];
  }
  if (exchanges.length === 0 || lease.mode === 'read') return [];
  // The lease may have been upgraded and downgraded again.
  const mayBeBack = exchanges.length > 1 || lease.upgrading === true;
  const regained = lease.mode === 'write' ? ['firstToken'] : [];
  return ['change', 'upgrading', ...(mayBeBack ? ['token', 'firstToken', 'acquiredAt'] : regained)];
}

/** S5: the limit changes only if an operation names another one, and by a request only while the lock is idle. */
function theLimitIsTouchedOnlyByName(update: Update): void {
  const { before, operations, nowMs, after } = update;
  if (before.limit === undefined || after.limit === undefined || after.limit === before.limit) return;
  check(limitsNamed(update).includes(after.limit), `S5: no operation named the limit ${after.limit}`);
  const [only, ...others] = operations;
  if (only === undefined || others.length > 0 || setsLimit(only)) return;
  const members = [...before.leases, ...before.queue.map(([, waiter]) => waiter)];
  check(!members.some((member) => isLive(member, nowMs)), 'S5: a request changed the limit of a lock in use');
}

/** The limits that these operations may have stored. */
const limitsNamed = ({ operations, nowMs }: Update): readonly number[] =>
  operations.flatMap((operation) => {
    const mayBeLate = operation.type === 'resize' && operation.notAfter.getTime() < nowMs;
    const mayNameIt =
      setsLimit(operation) || ('request' in operation && operation.request.mustMatch === true);
    return mayNameIt && !mayBeLate ? [limitOf(operation)] : [];
  });

/** L3: no attempt overtakes a waiter that is still there. */
function firstComeFirstServed(update: Update): void {
  const placeOf = placesIn(update);
  const waiting = update.after.queue.map(([id]) => id);
  for (const [index, id] of waiting.entries()) {
    const next = waiting[index + 1] ?? id;
    check(!isBehind(placeOf(id), placeOf(next)), `L3: ${id} overtook ${next} in the queue`);
  }
  const [first] = waiting;
  if (first === undefined) return;
  for (const newcomer of newcomersIn(update)) {
    const { id } = newcomer;
    const isAhead = !isBehind(placeOf(id), placeOf(first)) || mayOvertake(update, newcomer);
    check(isAhead, `L3: ${id} overtook ${first}`);
  }
}

/** L2: in the transition of a term, the same candidate is admitted at once. */
function noHeirWaits(update: Update): void {
  const heir = heirWaiting(update);
  check(heir === undefined, `L2: ${heir ?? ''} may return, and waits`);
}

/** L3: an upgrade that waits jumps the queue. */
function nobodyOvertakesAnUpgrade(update: Update): void {
  const { before, operations, nowMs } = update;
  for (const { id, upgrading, change = 0, ...lease } of before.leases) {
    const stood = upgrading === true && lease.expiresAt.getTime() > nowMs;
    if (!stood || isNamed(operations, id, ['leave', 'evict'])) continue;
    if (exchangesOf(operations, id, change).length > 0) continue;
    const [other] = newcomersIn(update);
    check(other === undefined, `L3: ${other?.id ?? ''} overtook the upgrade of ${id}`);
  }
}

/** L3: a try is admitted or not, and takes no place in the queue. */
function noTryWaits({ before, operations, after }: Update): void {
  for (const [id] of after.queue) {
    const isNew = !before.queue.some(([known]) => known === id);
    const isEnqueued = operations.some(
      (operation) => operation.type === 'enqueue' && operation.request.id === id,
    );
    check(!isNew || isEnqueued, `L3: ${id} waits and did not ask to`);
  }
}

/** The range of an attempt in the order of arrival: from its first request to its last one. */
interface Arrival {
  readonly first: number;
  readonly last: number;
}

const isBehind = (one: Arrival, other: Arrival): boolean => one.first > other.last;

/** Live waiters come first, and then the requests of this update in their order. */
function placesIn({ before, operations, nowMs }: Update): (id: string) => Arrival {
  const order = before.queue.flatMap(([id, waiter]) => (isLive(waiter, nowMs) ? [id] : []));
  const asking = operations.map((operation) => ('request' in operation ? operation.request.id : ''));
  return (id) => {
    const place = order.indexOf(id);
    if (place >= 0) return { first: place, last: place };
    const isAsking = asking.includes(id);
    return {
      first: isAsking ? order.length + asking.indexOf(id) : Infinity,
      last: isAsking ? order.length + asking.lastIndexOf(id) : Infinity,
    };
  };
}

/** The changes of mode under this id that are newer than the one with this number. */
const exchangesOf = (operations: readonly Operation[], id: string, change: number): readonly Exchange[] =>
  operations.filter(
    (operation): operation is Exchange =>
      operation.type === 'exchange' && operation.id === id && operation.change > change,
  );

export function isNamed(
  operations: readonly Operation[],
  id: string,
  types: readonly Operation['type'][],
): boolean {
  return operations.some(
    (operation) =>
      types.includes(operation.type) &&
      (('id' in operation && operation.id === id) || ('ids' in operation && operation.ids.includes(id))),
  );
}

const fieldsOf = (value: object): Readonly<Record<string, unknown>> =>
  value as Readonly<Record<string, unknown>>;

function checkSame(was: object, is: object, except: readonly string[], message: string): void {
  const [before, after] = [fieldsOf(was), fieldsOf(is)];
  const isSame = (field: string): boolean =>
    except.includes(field) || isDeepStrictEqual(before[field], after[field]);
  if ([...Object.keys(was), ...Object.keys(is)].every(isSame)) return;
  const text = (value: object): string =>
    JSON.stringify(
      Object.entries(value)
        .filter(([field]) => !except.includes(field))
        .sort(([a], [b]) => (a < b ? -1 : 1)),
    );
  throw new Error(`${message}: ${text(was)} → ${text(is)}`);
}

function check(holds: boolean, message: string): void {
  if (!holds) throw new Error(message);
}
