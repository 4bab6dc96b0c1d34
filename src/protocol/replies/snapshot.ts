import { DOCUMENT_VERSION } from '../lock-document.js';
import type { Lease, LockKind, Mode, Waiter } from '../lock-document.js';
import { isLease } from './reply.js';
import type { Seats } from '../seats.js';

/** One lease as it is stored. Times are the server's. */
export interface LeaseInfo {
  /** The attempt id, which the handle has too. */
  readonly id: string;
  /** `host:pid:random` of the provider that holds it. */
  readonly process: string;
  /** The label of that provider. */
  readonly label?: string | undefined;
  /** What the lock was asked for. */
  readonly why?: string | undefined;
  /** The fencing token. */
  readonly token: number;
  /** Of a reader-writer lock: how it is held. */
  readonly mode?: Mode | undefined;
  /** Of a semaphore: how many permits are held. */
  readonly permits?: number | undefined;
  /**
   * Of a seat that its process may keep between its callers: how many tokens beyond `token` are reserved for them. All
   * else is that of the first of them.
   */
  readonly keeps?: number | undefined;
  /** Of an election: which candidate leads. */
  readonly candidateId?: string | undefined;
  /** Of an election: what the leader tells everybody. */
  readonly value?: string | undefined;
  /** When it was granted. */
  readonly acquiredAt: Date;
  /** When it was last extended; the time of the grant, or before it, if never. */
  readonly extendedAt: Date;
  /** When it ends unless it is extended. */
  readonly expiresAt: Date;
}

/** One waiter as it is stored, in the order of the queue. */
export interface WaiterInfo {
  /** The attempt id, which becomes that of the lease. */
  readonly id: string;
  /** `host:pid:random` of the provider that waits. */
  readonly process: string;
  /** The label of that provider. */
  readonly label?: string | undefined;
  /** What the lock is wanted for. */
  readonly why?: string | undefined;
  /** Of a reader-writer lock: how it is wanted. */
  readonly mode?: Mode | undefined;
  /** Of a semaphore: how many permits are wanted. */
  readonly permits?: number | undefined;
  /** Of an election: which candidate waits. */
  readonly candidateId?: string | undefined;
  /** Of an election: what the candidate will tell everybody when it leads. */
  readonly value?: string | undefined;
  /** When it was queued. */
  readonly since: Date;
  /** When its place lapses unless it is extended. */
  readonly expiresAt: Date;
}

/** What a lock looked like at one moment. Only live holders and waiters are listed. */
export interface LockSnapshot {
  /** The name of the lock. */
  readonly name: string;
  /** What it is used as. */
  readonly kind: LockKind;
  /** The server's time of the look. */
  readonly asOf: Date;
  /** Of a semaphore: how many permits there are. */
  readonly limit?: number | undefined;
  /** Who holds it. */
  readonly holders: readonly LeaseInfo[];
  /** Who waits for it, first come first. */
  readonly waiters: readonly WaiterInfo[];
}

export const describeLease = (lease: Lease): LeaseInfo => ({
  id: lease.id,
  process: lease.process,
  label: lease.label,
  why: lease.why,
  token: lease.token,
  mode: lease.mode,
  permits: lease.permits,
  keeps: lease.keeps,
  candidateId: lease.candidateId,
  value: lease.value,
  acquiredAt: lease.acquiredAt,
  extendedAt: new Date(lease.expiresAt.getTime() - lease.leaseMs),
  expiresAt: lease.expiresAt,
});

export const describeWaiter = (id: string, waiter: Waiter): WaiterInfo => ({
  id,
  process: waiter.process,
  label: waiter.label,
  why: waiter.why,
  mode: waiter.mode,
  permits: waiter.permits,
  candidateId: waiter.candidateId,
  value: waiter.value,
  since: waiter.since,
  expiresAt: waiter.expiresAt,
});

/** Reads a stored document; `null` if it is none that this version understands. */
export function readSnapshot(
  kinds: readonly Seats[],
  name: string,
  document: Readonly<Record<string, unknown>>,
  asOf: Date,
): LockSnapshot | null {
  const { kind, v, queue, limit } = document;
  const seats = kinds.find((candidate) => candidate.kind === kind);
  if (seats === undefined || v !== DOCUMENT_VERSION || !isRecord(queue)) return null;
  const leases = seats.leasesIn(document);
  const waiters = Object.entries(queue);
  if (!leases.every(isLease) || !waiters.every(isWaiterEntry)) return null;
  const isLive = ({ expiresAt }: { readonly expiresAt: Date }): boolean => expiresAt > asOf;
  return {
    name,
    kind: seats.kind,
    asOf,
    limit: typeof limit === 'number' ? limit : undefined,
    holders: leases.filter(isLive).map(describeLease),
    waiters: waiters.map(([id, waiter]) => describeWaiter(id, waiter)).filter(isLive),
  };
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function isWaiterEntry(entry: [string, unknown]): entry is [string, Waiter] {
  const [, waiter] = entry;
  return (
    isRecord(waiter) &&
    typeof waiter['process'] === 'string' &&
    waiter['since'] instanceof Date &&
    waiter['expiresAt'] instanceof Date
  );
}
