import type { Lease, LockKind, Waiter } from '../../src/protocol/lock-document.js';
import type { Operation } from '../../src/protocol/operation.js';
import type { Update } from './update.js';
import type { Version } from '../../src/testing/judge/lock-version.js';

/** Hand-written updates for tests of the judge of updates. */

export const nowMs = Date.UTC(2030, 0, 1);
const member = { process: 'p', leaseMs: 30_000, expiresAt: new Date(nowMs + 1_000) };
export const over = { expiresAt: new Date(nowMs) };

export const lease = (id: string, token: number, change: Partial<Lease> = {}): Lease => ({
  ...member,
  ...{ id, token, acquiredAt: new Date(nowMs - 1_000) },
  ...change,
});

export const waiting = (id: string, change: Partial<Waiter> = {}): readonly [string, Waiter] => [
  id,
  { ...member, since: new Date(nowMs - 1_000), ...change },
];

export type Queue = Version['queue'];

export const version = (
  leases: readonly Lease[],
  queue: Queue = [],
  { kind = 'mutex', fence, limit }: { kind?: LockKind; fence?: number; limit?: number } = {},
): Version => ({
  ...{ kind, leases, queue, limit, wake: '' },
  fence: fence ?? Math.max(7, ...leases.map(({ token }) => token)),
  writer: leases.find(({ mode }) => mode === 'write')?.id,
});

export const update = (before: Version, after: Version, ...operations: readonly Operation[]): Update => ({
  ...{ before, operations, nowMs, after },
});

export type Case = readonly [words: string, wrong: Update, invariant: RegExp];
