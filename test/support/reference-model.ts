import type { Lease, LockKind, Waiter } from '../../src/protocol/lock-document.js';
import type { Operation, Request } from '../../src/protocol/transition.js';

/**
 * What one update does to one lock document, in plain TypeScript: the rules of the protocol written a second time,
 * without a pipeline, so that the two can be held against each other.
 *
 * Time is a parameter. The server's is known only from the reply to the very update that the model then repeats.
 */

/** What differs between the primitives; `S` is what a document keeps of its leases. */
export interface ModelSeats<S> {
  readonly kind: LockKind;
  readonly vacant: S;
  leasesOf(seats: S): readonly Lease[];
  /** How many of the first waiters may enter now. */
  admissible(seats: S, waiters: readonly Waiter[]): number;
  occupied(seats: S, entering: readonly Lease[]): S;
  /** The seats with each lease changed, or gone where `change` gives `undefined`. */
  revised(seats: S, change: (lease: Lease) => Lease | undefined): S;
  /** S1. */
  isLegal(seats: S): boolean;
  /** The fields under which a document stores these seats. */
  stored(seats: S): Readonly<Record<string, unknown>>;
}

export interface Queued {
  readonly id: string;
  readonly waiter: Waiter;
}

export interface ModelDocument<S> {
  readonly fence: number;
  readonly seats: S;
  /** First come, first. */
  readonly queue: readonly Queued[];
  readonly wake: readonly string[];
  readonly purgeAt: Date;
}

export type Stored<S> =
  | { readonly type: 'missing' }
  | { readonly type: 'lock'; readonly document: ModelDocument<S> }
  /** A well-formed document of another kind of lock; of its leases and waiters only the expiries matter. */
  | {
      readonly type: 'other-kind';
      readonly kind: LockKind;
      readonly fence: number;
      readonly wake: readonly string[];
      readonly purgeAt: Date;
      readonly expiries: readonly Date[];
    }
  | { readonly type: 'corrupt' };

export type Refusal = 'busy' | 'late' | 'full' | 'other-kind' | 'corrupt';

export interface Step<S> {
  readonly after: Stored<S>;
  /** The requests that were refused, each with the reason at its turn. */
  readonly refusals: ReadonlyMap<Request, Refusal>;
}

/** The document between two operations of one update. */
interface Draft<S> {
  readonly nowMs: number;
  fence: number;
  seats: S;
  queue: Queued[];
  readonly wake: string[];
  /** Who stood in the queue when the update began, dead or alive: somebody may be waiting to hear of them. */
  readonly queuedBefore: ReadonlySet<string>;
  readonly refusals: Map<Request, Refusal>;
}

const DAY_MS = 86_400_000;
const MISSING = { type: 'missing' } as const;

/** expire → (operate → admit)* → publish; without operations it admits once. */
export function transition<S>(
  seats: ModelSeats<S>,
  before: Stored<S>,
  operations: readonly Operation[],
  nowMs: number,
  adopting = false,
): Step<S> {
  const creates = operations.some(({ type }) => type === 'enqueue' || type === 'try');
  if (before.type === 'missing' && !creates) return { after: MISSING, refusals: new Map() };
  if (before.type === 'corrupt') return untouched(before, operations, 'corrupt');
  const opened = open(seats, before, nowMs, adopting);
  if (opened === undefined) return untouched(before, operations, 'other-kind');

  const draft: Draft<S> = {
    nowMs,
    fence: opened.fence,
    seats: seats.revised(opened.seats, (lease) => (isLive(lease, nowMs) ? lease : undefined)),
    queue: opened.queue.filter(({ waiter }) => isLive(waiter, nowMs)),
    wake: [],
    queuedBefore: new Set(opened.queue.map(({ id }) => id)),
    refusals: new Map(),
  };
  if (operations.length === 0) admit(seats, draft);
  for (const operation of operations) {
    operate(seats, draft, operation);
    admit(seats, draft);
  }
  const { fence, queue, wake, refusals } = draft;
  const purgeAt = raised(opened.purgeAt, nowMs, operations.map(lifetimeMs));
  const document = { fence, seats: draft.seats, queue, wake, purgeAt };
  return { after: { type: 'lock', document }, refusals };
}

/** The batched extension as it concerns one document. It is no transition: it expires and admits nobody. */
export function extension<S>(
  seats: ModelSeats<S>,
  before: Stored<S>,
  ids: readonly string[],
  leaseMs: number,
  retentionMs: number,
  nowMs: number,
): Stored<S> {
  if (before.type !== 'lock') return before;
  const { document } = before;
  const extended = seats.revised(document.seats, (lease) =>
    ids.includes(lease.id) && isLive(lease, nowMs) && lease.ending !== true
      ? leasedFrom(lease, nowMs)
      : lease,
  );
  const purgeAt = raised(document.purgeAt, nowMs, [leaseMs + retentionMs]);
  return { type: 'lock', document: { ...document, seats: extended, wake: [], purgeAt } };
}

const isLive = ({ expiresAt }: { readonly expiresAt: Date }, nowMs: number): boolean =>
  expiresAt.getTime() > nowMs;

/** Never earlier than what is stored, though the server's clock may have stepped back. */
const leasedFrom = <M extends Lease | Waiter>(member: M, nowMs: number): M => ({
  ...member,
  expiresAt: new Date(Math.max(member.expiresAt.getTime(), nowMs + member.leaseMs)),
});

const texts = (label: string | undefined, why: string | undefined): Pick<Waiter, 'label' | 'why'> => ({
  ...(label === undefined ? {} : { label }),
  ...(why === undefined ? {} : { why }),
});

function untouched<S>(before: Stored<S>, operations: readonly Operation[], why: Refusal): Step<S> {
  const refused = operations.flatMap((operation) =>
    'request' in operation ? [[operation.request, why] as const] : [],
  );
  return { after: before, refusals: new Map(refused) };
}

/** The document to work on; `undefined` if another kind of lock is in use there. */
function open<S>(
  seats: ModelSeats<S>,
  before: Exclude<Stored<S>, { readonly type: 'corrupt' }>,
  nowMs: number,
  adopting: boolean,
): Omit<ModelDocument<S>, 'wake'> | undefined {
  if (before.type === 'lock') return before.document;
  const vacant = { seats: seats.vacant, queue: [] };
  if (before.type === 'missing') return { ...vacant, fence: 0, purgeAt: new Date(0) };
  const isIdle = before.expiries.every((expiresAt) => !isLive({ expiresAt }, nowMs));
  return adopting && isIdle ? { ...vacant, fence: before.fence, purgeAt: before.purgeAt } : undefined;
}

function operate<S>(seats: ModelSeats<S>, draft: Draft<S>, operation: Operation): void {
  switch (operation.type) {
    case 'enqueue':
    case 'try':
      apply(seats, draft, operation.request, operation.type);
      break;
    case 'cancel':
      draft.queue = draft.queue.filter(({ id }) => id !== operation.id);
      break;
    case 'leave':
      leave(seats, draft, operation.id);
      break;
    case 'extend':
      extend(seats, draft, operation.ids);
      break;
    case 'ask':
      ask(seats, draft, operation.ids, operation.why);
      break;
    case 'evict':
      tell(seats, draft, operation.ids);
      draft.seats = seats.revised(draft.seats, (lease) =>
        operation.ids.includes(lease.id) ? undefined : lease,
      );
      break;
  }
}

function apply<S>(seats: ModelSeats<S>, draft: Draft<S>, request: Request, type: 'enqueue' | 'try'): void {
  const { id, process, leaseMs, label, why, notAfter, maxMembers } = request;
  const { nowMs, queue, refusals } = draft;
  const leases = seats.leasesOf(draft.seats);
  if ([...leases, ...queue].some((known) => known.id === id)) return;
  const waiter: Waiter = {
    process,
    leaseMs,
    since: new Date(nowMs),
    expiresAt: new Date(nowMs + leaseMs),
    ...texts(label, why),
  };
  const mayEnter = queue.length === 0 && seats.admissible(draft.seats, [waiter]) === 1;
  if (nowMs > notAfter.getTime()) refusals.set(request, 'late');
  else if (type === 'try' && !mayEnter) refusals.set(request, 'busy');
  else if (leases.length + queue.length >= maxMembers) refusals.set(request, 'full');
  else queue.push({ id, waiter });
}

function leave<S>(seats: ModelSeats<S>, draft: Draft<S>, id: string): void {
  const lease = seats.leasesOf(draft.seats).find((held) => held.id === id);
  draft.wake.push(`-${id}:${lease?.token ?? 0}`);
  draft.seats = seats.revised(draft.seats, (held) => (held.id === id ? undefined : held));
  draft.queue = draft.queue.filter((queued) => queued.id !== id);
}

function extend<S>(seats: ModelSeats<S>, draft: Draft<S>, ids: readonly string[]): void {
  const { nowMs } = draft;
  draft.seats = seats.revised(draft.seats, (lease) =>
    ids.includes(lease.id) && lease.ending !== true ? leasedFrom(lease, nowMs) : lease,
  );
  draft.queue = draft.queue.map(({ id, waiter }) => ({
    id,
    waiter: ids.includes(id) ? leasedFrom(waiter, nowMs) : waiter,
  }));
}

function ask<S>(
  seats: ModelSeats<S>,
  draft: Draft<S>,
  ids: readonly string[],
  why: string | undefined,
): void {
  tell(seats, draft, ids);
  const mark = { ending: true, ...(why === undefined ? {} : { endingWhy: why }) };
  draft.seats = seats.revised(draft.seats, (lease) =>
    ids.includes(lease.id) ? { ...lease, ...mark } : lease,
  );
}

/** Look again: the lease was asked for, or taken away. */
function tell<S>(seats: ModelSeats<S>, draft: Draft<S>, ids: readonly string[]): void {
  for (const { id, process } of seats.leasesOf(draft.seats)) {
    if (ids.includes(id)) draft.wake.push(`${process}:${id}:0`);
  }
}

/** The first waiters take their seats, with the expiry they had as waiters. */
function admit<S>(seats: ModelSeats<S>, draft: Draft<S>): void {
  const { nowMs, queue, wake, queuedBefore } = draft;
  const waiters = queue.map(({ waiter }) => waiter);
  const entering = queue.slice(0, seats.admissible(draft.seats, waiters));
  draft.queue = queue.slice(entering.length);
  const leases = entering.map(({ id, waiter }): Lease => {
    const { process, leaseMs, expiresAt, label, why } = waiter;
    draft.fence = Math.max(draft.fence, nowMs * 1_000) + 1;
    const grant = { token: draft.fence, acquiredAt: new Date(nowMs) };
    return { id, process, leaseMs, expiresAt, ...texts(label, why), ...grant };
  });
  draft.seats = seats.occupied(draft.seats, leases);
  for (const { id, process, token } of leases) {
    // Whom this update has queued itself learns of its grant by the reply.
    if (queuedBefore.has(id)) wake.push(`${process}:${id}:${token}`);
  }
}

/** How long after now the document may be needed because of this operation. */
function lifetimeMs(operation: Operation): number {
  if ('request' in operation) return operation.request.leaseMs + operation.request.retentionMs;
  return operation.type === 'extend' ? operation.leaseMs + operation.retentionMs : 0;
}

/** Rounded up to the day, never lowered. */
function raised(purgeAt: Date, nowMs: number, lifetimesMs: readonly number[]): Date {
  const needed = lifetimesMs.filter((ms) => ms > 0).map((ms) => Math.ceil((nowMs + ms) / DAY_MS) * DAY_MS);
  return new Date(Math.max(purgeAt.getTime(), ...needed));
}
