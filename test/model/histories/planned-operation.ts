import type { RunOutcome } from '../../../src/protocol/operation.js';
import type { Lease, Mode } from '../../../src/protocol/lock-document.js';
import type { Demand, Operation } from '../../../src/protocol/operation.js';
import { RETENTION_MS } from '../documents/operations.js';

/** The id of an attempt, or a role such as `holder`, which is resolved when the operation is sent. */
export type Target = string;

/** An operation whose times, targets and numbers are settled when it is sent. */
export type PlannedOperation =
  | {
      readonly type: 'enqueue' | 'try';
      readonly target: Target;
      readonly leaseMs: number;
      readonly notAfterMs: number;
      readonly maxMembers: number;
      readonly retentionMs: number;
      readonly label?: string | undefined;
      readonly why?: string | undefined;
      readonly keeps?: number | undefined;
      readonly demand: Demand;
    }
  | { readonly type: 'cancel' | 'leave'; readonly target: Target }
  | {
      readonly type: 'extend';
      readonly targets: readonly Target[];
      readonly leaseMs: number;
      readonly retentionMs: number;
      readonly nonce: string;
    }
  | { readonly type: 'evict'; readonly targets: readonly Target[] }
  | { readonly type: 'ask'; readonly targets: readonly Target[]; readonly why?: string | undefined }
  | {
      readonly type: 'exchange';
      readonly target: Target;
      /** `next`: one more than the last change that took effect. A number may be outdated. */
      readonly change: 'next' | number;
      readonly to: Mode;
      readonly waits: boolean;
    }
  | { readonly type: 'resize'; readonly limit: number; readonly notAfterMs: number }
  | { readonly type: 'handOver'; readonly target: Target; readonly candidateId: string }
  | {
      readonly type: 'claim';
      readonly target: Target;
      /** Whether the claim is for the present term of the attempt; otherwise for an earlier term. */
      readonly isPresent: boolean;
      readonly job: string;
      readonly inMs: number;
      /** Whether the claim names the instant that was claimed last. */
      readonly isInformed: boolean;
      readonly claimId: string;
      readonly runs: boolean;
      /** The call that the claim answers: the last one, or one that does not exist. */
      readonly call: 'last' | 'none' | undefined;
      readonly nonce: string;
    }
  | {
      readonly type: 'claimWithoutTerm';
      readonly job: string;
      readonly inMs: number;
      /** Whether it claims the instant that was claimed last. */
      readonly isLast: boolean;
      readonly claimId: string;
      readonly nonce: string;
    }
  | {
      readonly type: 'conclude';
      readonly target: Target;
      readonly job: string;
      /** Whether it names the last run. */
      readonly isInformed: boolean;
      readonly outcome: RunOutcome;
      readonly nonce: string;
    }
  | {
      readonly type: 'call';
      readonly job: string;
      /** The number of the last call, or of the one before it; `look` only reads. */
      readonly since: 'last' | 'before' | 'look';
      readonly forMs: number;
      readonly nonce: string;
    }
  /** `by`: how far above the token that the clock gives now. */
  | { readonly type: 'raiseFence'; readonly target: Target; readonly by: number; readonly nonce: string };

export type When = 'past' | 'now' | 'ahead' | 'silent';

/** One step of a history: mostly an update, sometimes an event that changes the document from outside. */
export type Event =
  | {
      readonly type: 'update';
      readonly process: string;
      readonly operations: readonly PlannedOperation[];
      readonly takingOver: boolean;
      /** Whether the fast path is tried first, if there is one. */
      readonly short: boolean;
    }
  | {
      readonly type: 'extension';
      readonly targets: readonly Target[];
      readonly leaseMs: number;
      readonly retentionMs: number;
    }
  /**
   * Moves an expiry. `now`: to the very millisecond of the write. `ahead`: as if the clock had stepped back. `silent`: a
   * leader comes to its transition, and other attempts stay as they are.
   */
  | { readonly type: 'lapse'; readonly target: Target; readonly when: When }
  | { readonly type: 'fence-ahead'; readonly by: number }
  | { readonly type: 'delete' }
  | { readonly type: 'other-kind'; readonly which: number; readonly isLive: boolean }
  | { readonly type: 'corruption'; readonly which: number };

export const PROCESSES = ['host-a:1:p0', 'host-b:2:p1', 'host-b:3:p2'] as const;

/** The process of the attempt with this id. */
export const processOf = (id: string): string => PROCESSES[Number(id.slice(1)) % PROCESSES.length] ?? '';

/** The id of the attempt that has this role. */
export function whoIs(
  target: Target,
  leases: readonly Lease[],
  [head]: readonly { readonly id: string }[],
): string {
  switch (target) {
    case 'holder':
      return leases[0]?.id ?? 'w0';
    case 'last':
      return leases.at(-1)?.id ?? 'w0';
    // A lease that is in the way of an upgrade.
    case 'other':
      return leases.find(({ upgrading }) => upgrading !== true)?.id ?? 'w0';
    case 'upgradeable':
      return leases.find(({ mode }) => mode === 'upgradeable')?.id ?? 'w2';
    case 'writer':
      return leases.find(({ mode }) => mode === 'write')?.id ?? 'w3';
    case 'head':
      return head?.id ?? 'w1';
    default:
      return target;
  }
}

/** What is known when an operation is sent. */
export interface Knowledge {
  /** The server's time by its last reply. */
  readonly nowMs: number;
  readonly resolve: (target: Target) => string;
  /** The number of the last change of mode of this lease; 0 if there was none. */
  readonly lastChangeOf: (id: string) => number;
  /** The token of this lease; 1, which no lease has, if there is none. */
  readonly tokenOf: (id: string) => number;
  /** The instant that this job claimed last. */
  readonly lastClaimOf: (job: string) => Date | null;
  /** The instant of its last run. */
  readonly lastRunOf: (job: string) => Date | null;
  /** The number of its last call, 0 if there was none. */
  readonly lastCallOf: (job: string) => number;
}

/** The operation as it is sent. */
export function settle(planned: PlannedOperation, knowledge: Knowledge): Operation {
  const { nowMs, resolve, lastChangeOf } = knowledge;
  switch (planned.type) {
    case 'enqueue':
    case 'try': {
      const { type, target: id, notAfterMs, demand, ...rest } = planned;
      const notAfter = new Date(nowMs + notAfterMs);
      return { type, request: { id, process: processOf(id), notAfter, ...rest, ...demand } };
    }
    case 'cancel':
    case 'leave':
      return { type: planned.type, id: resolve(planned.target) };
    case 'extend': {
      const { type, targets: ids, ...lifetime } = planned;
      return { type, ids: ids.map(resolve), ...lifetime };
    }
    case 'ask':
      return { type: 'ask', ids: planned.targets.map(resolve), why: planned.why };
    case 'evict':
      return { type: 'evict', ids: planned.targets.map(resolve) };
    case 'exchange': {
      const { type, target, change, to, waits } = planned;
      const id = resolve(target);
      return { type, id, change: change === 'next' ? lastChangeOf(id) + 1 : change, to, waits };
    }
    case 'resize':
      return { type: 'resize', limit: planned.limit, notAfter: new Date(nowMs + planned.notAfterMs) };
    case 'handOver':
      return { type: 'handOver', id: resolve(planned.target), candidateId: planned.candidateId };
    case 'claim': {
      const { type, target, isPresent, job, inMs, isInformed, claimId, runs, call, nonce } = planned;
      const after = isInformed ? knowledge.lastClaimOf(job) : new Date(nowMs - 7);
      const id = resolve(target);
      const claim = {
        type,
        id,
        token: knowledge.tokenOf(id) - (isPresent ? 0 : 1),
        job,
        instant: new Date(nowMs + inMs),
        after,
        claimId,
        nonce,
      };
      const anchor = runs ? new Date(nowMs + 5_000) : undefined;
      if (call === undefined) return { ...claim, anchor, runs };
      return { ...claim, anchor, runs, call: knowledge.lastCallOf(job) + (call === 'last' ? 0 : 1) };
    }
    case 'claimWithoutTerm': {
      const { type, job, inMs, isLast, claimId, nonce } = planned;
      const instant = (isLast ? knowledge.lastClaimOf(job) : null) ?? new Date(nowMs + inMs);
      return { type, job, instant, claimId, process: 'p0', retentionMs: RETENTION_MS, nonce };
    }
    case 'conclude': {
      const { type, target, job, isInformed, outcome, nonce } = planned;
      const instant = (isInformed ? knowledge.lastRunOf(job) : null) ?? new Date(nowMs - 7);
      return { type, id: resolve(target), job, instant, outcome, nonce };
    }
    case 'call': {
      const { type, job, since, forMs, nonce } = planned;
      const last = knowledge.lastCallOf(job);
      const known = since === 'look' ? null : Math.max(0, last - (since === 'last' ? 0 : 1));
      return { type, job, since: known, until: new Date(nowMs + forMs), nonce };
    }
    case 'raiseFence': {
      const { type, target, by, nonce } = planned;
      return { type, id: resolve(target), token: nowMs * 1_000 + by, nonce };
    }
  }
}
