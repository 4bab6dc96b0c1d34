import { DOCUMENT_VERSION } from './lock-document.js';
import type { Lease, LockKind, Waiter } from './lock-document.js';
import { isLease } from './reply.js';
import type { Seats } from './seats.js';

/** One lease as it is stored. Times are the server's. */
export interface LeaseInfo {
  readonly id: string;
  /** `host:pid:random` of the provider that holds it. */
  readonly process: string;
  readonly label?: string | undefined;
  readonly why?: string | undefined;
  readonly token: number;
  readonly mode?: 'read' | 'upgradeable' | 'write' | undefined;
  readonly permits?: number | undefined;
  readonly acquiredAt: Date;
  readonly extendedAt: Date;
  readonly expiresAt: Date;
}

/** One waiter as it is stored, in the order of the queue. */
export interface WaiterInfo {
  readonly id: string;
  readonly process: string;
  readonly label?: string | undefined;
  readonly why?: string | undefined;
  readonly mode?: 'read' | 'upgradeable' | 'write' | undefined;
  readonly permits?: number | undefined;
  readonly since: Date;
  readonly expiresAt: Date;
}

/** What a lock looked like at one moment. Only live holders and waiters are listed. */
export interface LockSnapshot {
  readonly name: string;
  readonly kind: LockKind;
  /** The server's time of the look. */
  readonly asOf: Date;
  readonly limit?: number | undefined;
  readonly holders: readonly LeaseInfo[];
  readonly waiters: readonly WaiterInfo[];
}

export const describeLease = (lease: Lease): LeaseInfo => ({
  id: lease.id,
  process: lease.process,
  label: lease.label,
  why: lease.why,
  token: lease.token,
  acquiredAt: lease.acquiredAt,
  extendedAt: new Date(lease.expiresAt.getTime() - lease.leaseMs),
  expiresAt: lease.expiresAt,
});

export const describeWaiter = (id: string, waiter: Waiter): WaiterInfo => ({
  id,
  process: waiter.process,
  label: waiter.label,
  why: waiter.why,
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
  const { kind, v, queue } = document;
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
