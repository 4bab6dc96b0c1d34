import type { Mode } from '../../../src/protocol/lock-document.js';
import type { Operation, Request } from '../../../src/protocol/operation.js';

export const DAY_MS = 86_400_000;
export const LEASE_MS = 30_000;
export const RETENTION_MS = 7 * DAY_MS;

/** A request, with defaults for all that most tests do not care about. */
export const requestOf = (id: string, overrides: Partial<Request> = {}): Request => ({
  id,
  process: 'p0',
  leaseMs: LEASE_MS,
  notAfter: new Date(Date.now() + DAY_MS),
  maxMembers: 1_000,
  retentionMs: RETENTION_MS,
  ...overrides,
});

export const enqueue = (id: string, overrides?: Partial<Request>): Operation => ({
  type: 'enqueue',
  request: requestOf(id, overrides),
});

export const tryOnce = (id: string, overrides?: Partial<Request>): Operation => ({
  type: 'try',
  request: requestOf(id, overrides),
});

export const leave = (id: string): Operation => ({ type: 'leave', id });

export const cancel = (id: string): Operation => ({ type: 'cancel', id });

/** The nonce of every operation here that needs one. */
export const NONCE = '7f';

export const extend = (...ids: readonly string[]): Extract<Operation, { type: 'extend' }> => ({
  type: 'extend',
  ids,
  leaseMs: LEASE_MS,
  retentionMs: RETENTION_MS,
  nonce: NONCE,
});

export const ask = (id: string, why?: string): Operation => ({ type: 'ask', ids: [id], why });

export const evict = (id: string): Operation => ({ type: 'evict', ids: [id] });

export const exchange = (id: string, change: number, to: Mode, waits = true): Operation => ({
  ...{ type: 'exchange', id, change, to, waits },
});

export const handOver = (id: string, candidateId: string): Operation => ({
  ...{ type: 'handOver', id, candidateId },
});

export const raiseFence = (id: string, token: number): Operation => ({
  ...{ type: 'raiseFence', id, token, nonce: NONCE },
});

export const claim = (id: string, job: string, after: Date | null = null): Operation => ({
  ...{
    type: 'claim',
    id,
    token: 1,
    job,
    instant: new Date(Date.now() - 1_000),
    after,
    claimId: 'c',
    nonce: NONCE,
  },
});

export const claimWithoutTerm = (job: string): Operation => ({
  ...{ type: 'claimWithoutTerm', job, instant: new Date(Date.now() - 1_000), claimId: 'c' },
  ...{ process: 'p0', retentionMs: RETENTION_MS, nonce: NONCE },
});

export const conclude = (id: string, job: string): Operation => ({
  ...{ type: 'conclude', id, job, instant: new Date(0), outcome: 'completed', nonce: NONCE },
});

export const call = (job: string, since: number | null = 0): Operation => ({
  ...{ type: 'call', job, since, until: new Date(Date.now() + 60_000), nonce: NONCE },
});

export const resize = (limit: number, notAfter = new Date(Date.now() + DAY_MS)): Operation => ({
  ...{ type: 'resize', limit, notAfter },
});
