import type { Lease, Waiter } from '../../src/protocol/lock-document.js';
import type { Operation } from '../../src/protocol/transition.js';

/** What can be seen of a lock document from outside. */
export interface Version {
  readonly fence: number;
  readonly leases: readonly Lease[];
  /** First come, first. */
  readonly queue: readonly (readonly [id: string, waiter: Waiter])[];
}

/** Reads a version from the fields that a mutex is stored in; `null` if there is no document. */
export function versionOf(stored: Readonly<Record<string, unknown>> | null): Version {
  if (stored === null) return { fence: 0, leases: [], queue: [] };
  const { fence, holder, queue } = stored as { fence: number; holder: Lease | null; queue: object };
  return {
    fence,
    leases: holder === null ? [] : [holder],
    queue: Object.entries(queue as Record<string, Waiter>),
  };
}

/** One update: what was stored before, what was asked for, the server's time of it, and what it left. */
export interface Update {
  readonly before: Version;
  readonly operations: readonly Operation[];
  readonly nowMs: number;
  readonly after: Version;
}

/**
 * Judges one update of a mutex by the invariants alone, knowing nothing of how an update works; throws an error that
 * names the invariant broken.
 *
 * @param lastToken - The highest token given under this name so far; the result is the one to go on with.
 */
export function judge(update: Update, lastToken: number): number {
  oneHolder(update);
  tokensRise(update, lastToken);
  onlyTheNamedAreTouched(update);
  firstComeFirstServed(update);
  noSeatStaysEmpty(update);
  return Math.max(lastToken, update.after.fence);
}

/** S1: at most one holder, and nobody both holds and waits. */
function oneHolder({ after: { leases, queue } }: Update): void {
  check(leases.length <= 1, 'S1: more than one holder');
  check(!queue.some(([id]) => leases.some((lease) => lease.id === id)), 'S1: a holder waits');
}

/** S3: every grant's token is above every token before it. */
function tokensRise({ before, after }: Update, lastToken: number): void {
  for (const { id, token } of after.leases) {
    if (before.leases.some((held) => held.id === id && held.token === token)) continue;
    check(token > lastToken, `S3: token ${token} after ${lastToken}`);
    check(Number.isSafeInteger(token), `S3: token ${token} is no exact number`);
    check(token === after.fence, `S3: token ${token} is not kept as fence ${after.fence}`);
  }
  check(after.fence === 0 || after.fence >= lastToken, 'S3: the fence fell');
}

/** S5: whoever is live stays what it is, unless an operation of this update names it. */
function onlyTheNamedAreTouched({ before, operations, nowMs, after }: Update): void {
  for (const lease of before.leases) {
    if (lease.expiresAt.getTime() <= nowMs || isNamed(operations, lease.id, ['leave', 'evict'])) continue;
    const kept = after.leases.find(({ id }) => id === lease.id);
    if (kept === undefined) throw new Error(`S5: ${lease.id} lost its seat to somebody else's operation`);
    const marks = isNamed(operations, lease.id, ['ask']) ? ['ending', 'endingWhy'] : [];
    const extension = isNamed(operations, lease.id, ['extend']) ? ['expiresAt'] : [];
    checkSame(lease, kept, [...marks, ...extension], `S5: the lease of ${lease.id} changed`);
  }
  for (const [id, waiter] of before.queue) {
    if (waiter.expiresAt.getTime() <= nowMs || isNamed(operations, id, ['leave', 'cancel', 'evict']))
      continue;
    const kept =
      after.queue.find(([queued]) => queued === id)?.[1] ?? after.leases.find((lease) => lease.id === id);
    if (kept === undefined) throw new Error(`S5: ${id} lost its place to somebody else's operation`);
    const isGranted = 'token' in kept;
    const grant = isGranted ? ['since', 'id', 'token', 'acquiredAt', 'ending', 'endingWhy'] : [];
    const extension = isNamed(operations, id, ['extend']) ? ['expiresAt'] : [];
    checkSame(waiter, kept, [...grant, ...extension], `S5: the place of ${id} changed`);
  }
}

/** L3: nobody overtakes a waiter that is still there. */
function firstComeFirstServed({ before, nowMs, after }: Update): void {
  const order = before.queue.flatMap(([id, waiter]) => (waiter.expiresAt.getTime() > nowMs ? [id] : []));
  const placeOf = (id: string): number => (order.includes(id) ? order.indexOf(id) : Infinity);
  const waiting = after.queue.map(([id]) => id);
  for (const [index, id] of waiting.entries()) {
    const next = waiting[index + 1] ?? id;
    check(placeOf(id) <= placeOf(next), `L3: ${id} overtook ${next} in the queue`);
  }
  const [first] = waiting;
  for (const { id } of after.leases) {
    const isNew = !before.leases.some((held) => held.id === id);
    check(
      !isNew || first === undefined || placeOf(id) <= placeOf(first),
      `L3: ${id} overtook ${first ?? ''}`,
    );
  }
}

/** L2 begins here: the update that frees a seat gives it to the next in line. */
function noSeatStaysEmpty({ after: { leases, queue } }: Update): void {
  check(leases.length > 0 || queue.length === 0, 'L2: the seat is free, and somebody waits');
}

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

function checkSame(was: object, is: object, except: readonly string[], message: string): void {
  const text = (value: object): string =>
    JSON.stringify(
      Object.entries(value)
        .filter(([field]) => !except.includes(field))
        .sort(([a], [b]) => (a < b ? -1 : 1)),
    );
  check(text(was) === text(is), `${message}: ${text(was)} → ${text(is)}`);
}

function check(holds: boolean, message: string): void {
  if (!holds) throw new Error(message);
}
