import { DOCUMENT_VERSION } from '../lock-document.js';
import type { Lease, LockKind, Mode, Waiter } from '../lock-document.js';
import { isLease } from './reply.js';
import type { KindRules } from '../kind-rules.js';

/** One live lease. All dates are by the server's clock. */
export interface LeaseInfo {
  /**
   * The attempt id, the same as the `id` of the handle. For a lock of a quorum: the id of the lease in one of the
   * stores, and the handle may have that of another store.
   */
  readonly id: string;
  /** The process id of the provider that has the lease: `host:pid:random`. */
  readonly process: string;
  /** The `label` of the provider that has the lease. */
  readonly label?: string | undefined;
  /** The `why` of the request. */
  readonly why?: string | undefined;
  /** The fencing token. */
  readonly token: number;
  /** Reader-writer lock only: the mode in which it is held. */
  readonly mode?: Mode | undefined;
  /** Semaphore only: how many permits this lease has. */
  readonly permits?: number | undefined;
  /**
   * Present only if the process may keep the seat between its callers (`keepMs`): how many tokens beyond `token` are
   * reserved for further callers of the process. For a read, the number is always 1, and no token is reserved, because
   * all callers share `token`. `id`, `token`, `why` and `acquiredAt` are those of the first caller.
   */
  readonly keeps?: number | undefined;
  /** Election only: the candidate that leads. */
  readonly candidateId?: string | undefined;
  /** Election only: the value that the leader publishes. */
  readonly value?: string | undefined;
  /** When the lease was granted; after an upgrade, when the write was granted. */
  readonly acquiredAt: Date;
  /**
   * The time of the last extension. If the lease was never extended, this is the time at which the place of the
   * attempt began or was last extended, which is not after `acquiredAt`.
   */
  readonly extendedAt: Date;
  /**
   * When the lease expires unless it is extended. The lease of a leader includes the `transitionMs` of its election, so
   * the term ends `transitionMs` before this time.
   */
  readonly expiresAt: Date;
}

/** One live waiter. All dates are by the server's clock. */
export interface WaiterInfo {
  /** The attempt id. After the grant it is the id of the lease. */
  readonly id: string;
  /** The process id of the provider that waits: `host:pid:random`. */
  readonly process: string;
  /** The `label` of the provider that waits. */
  readonly label?: string | undefined;
  /** The `why` of the request. */
  readonly why?: string | undefined;
  /** Reader-writer lock only: the mode that is asked for. */
  readonly mode?: Mode | undefined;
  /** Semaphore only: how many permits are asked for. */
  readonly permits?: number | undefined;
  /** Election only: the candidate that waits. */
  readonly candidateId?: string | undefined;
  /** Election only: the value that the candidate will publish when it leads. */
  readonly value?: string | undefined;
  /** When the waiter was queued. */
  readonly since: Date;
  /** When the place of the waiter lapses unless it is extended. */
  readonly expiresAt: Date;
}

/**
 * A lock at the moment `asOf`, with the holders and waiters that were live then by the server's clock. Any of them may
 * have left since. So a snapshot proves to no process that it holds the lock.
 */
export interface LockSnapshot {
  /** The name of the lock. */
  readonly name: string;
  /** The kind of the lock. */
  readonly kind: LockKind;
  /** The server's time of the read. */
  readonly asOf: Date;
  /** Semaphore only: how many permits there are. */
  readonly limit?: number | undefined;
  /** The live leases. Their order has no meaning. */
  readonly holders: readonly LeaseInfo[];
  /** The live waiters, in the order of the queue. */
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

/** Reads a stored document; `null` if its kind or version is unknown, or if its queue or a lease is malformed. */
export function readSnapshot(
  kinds: readonly KindRules[],
  name: string,
  document: Readonly<Record<string, unknown>>,
  asOf: Date,
): LockSnapshot | null {
  const { kind, v, queue, limit } = document;
  const rules = kinds.find((candidate) => candidate.kind === kind);
  if (rules === undefined || v !== DOCUMENT_VERSION || !isObject(queue)) return null;
  const leases = rules.leasesIn(document);
  const waiters = Object.entries(queue);
  if (!leases.every(isLease) || !waiters.every(isWaiterEntry)) return null;
  const isLive = ({ expiresAt }: { readonly expiresAt: Date }): boolean => expiresAt > asOf;
  return {
    name,
    kind: rules.kind,
    asOf,
    limit: typeof limit === 'number' ? limit : undefined,
    holders: leases.filter(isLive).map(describeLease),
    waiters: waiters.map(([id, waiter]) => describeWaiter(id, waiter)).filter(isLive),
  };
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function isWaiterEntry(entry: [string, unknown]): entry is [string, Waiter] {
  const [, waiter] = entry;
  return (
    isObject(waiter) &&
    typeof waiter['process'] === 'string' &&
    waiter['since'] instanceof Date &&
    waiter['expiresAt'] instanceof Date
  );
}
