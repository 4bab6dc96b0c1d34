import type { StoredCall } from '../../../src/protocol/jobs/job-calls.js';
import type { StoredClaim } from '../../../src/protocol/jobs/job-claims.js';
import type { Lease, Waiter } from '../../../src/protocol/lock-document.js';
import type { Request } from '../../../src/protocol/operation.js';
import type { ModelDocument, Queued, Refusal } from './model-document.js';

/** The reference model's document between two operations of one update, without expired leases and places. */
export class DraftedDocument {
  readonly nowMs: number;
  fence: number;
  leases: readonly Lease[];
  limit: number;
  queue: readonly Queued[];
  readonly wake: string[] = [];
  claims: readonly StoredClaim[] | undefined;
  calls: readonly StoredCall[] | undefined;
  /** The attempts that were in the queue when the update began, live or expired: their processes may wait for news. */
  readonly queuedBefore: ReadonlySet<string>;
  readonly refusals = new Map<Request, Refusal>();

  constructor({ fence, leases, limit, queue, claims, calls }: ModelDocument, nowMs: number) {
    this.nowMs = nowMs;
    this.fence = fence;
    this.claims = claims;
    this.calls = calls;
    this.leases = leases.filter((lease) => isLive(lease, nowMs));
    this.limit = limit;
    this.queue = queue.filter(({ waiter }) => isLive(waiter, nowMs));
    this.queuedBefore = new Set(queue.map(({ id }) => id));
  }

  lease(id: string): Lease | undefined {
    return this.leases.find((lease) => lease.id === id);
  }

  /** A token follows the clock, or is one higher than the fence. The `reserved` tokens after it go with it. */
  nextToken(reserved = 0): number {
    const token = Math.max(this.fence, this.nowMs * 1_000) + 1;
    this.fence = token + reserved;
    return token;
  }

  /** Changes these leases in place. */
  change(ids: readonly string[], change: (lease: Lease) => Lease): void {
    this.leases = this.leases.map((lease) => (ids.includes(lease.id) ? change(lease) : lease));
  }

  extendLeases(ids: readonly string[]): void {
    this.change(ids, (lease) => (isExtendable(lease, this.nowMs) ? leasedFrom(lease, this.nowMs) : lease));
  }

  /** Moves the last lease to the position of the one that leaves, because positions have no meaning. */
  leave(id: string): void {
    const index = this.leases.findIndex((lease) => lease.id === id);
    const last = this.leases.at(-1);
    if (index < 0 || last === undefined) return;
    this.leases = this.leases.with(index, last).slice(0, -1);
  }

  /** Tells the keepers that an attempt waits, except the process of a request, which knows. */
  tellKeepers(but?: string): void {
    for (const { id, process, keeps = 0 } of this.leases) {
      if (keeps > 0 && process !== but) this.wake.push(`${process}:${id}:-1`);
    }
  }

  /** Tells these attempts to look again, because their leases were revoked. */
  tell(ids: readonly string[]): void {
    for (const { id, process } of this.leases) if (ids.includes(id)) this.wake.push(`${process}:${id}:0`);
  }
}

const isLive = ({ expiresAt }: { readonly expiresAt: Date }, nowMs: number): boolean =>
  expiresAt.getTime() > nowMs;

/** A lease that is ending stays as it is, and so does the lease of a term that is over. */
const isExtendable = ({ ending, expiresAt, transitionMs = 0 }: Lease, nowMs: number): boolean =>
  ending !== true && expiresAt.getTime() - transitionMs > nowMs;

/** Extends a lease or a place from now, but not to an earlier expiry than the stored one. */
export const leasedFrom = <M extends Lease | Waiter>(member: M, nowMs: number): M => ({
  ...member,
  expiresAt: new Date(Math.max(member.expiresAt.getTime(), nowMs + member.leaseMs)),
});

/** The same object without these fields. */
export const omit = <T extends object, K extends keyof T & string>(
  object: T,
  ...fields: readonly K[]
): Omit<T, K> =>
  Object.fromEntries(
    Object.entries(object).filter(([field]) => !fields.some((gone) => gone === field)),
  ) as Omit<T, K>;
