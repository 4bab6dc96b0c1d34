import type { StoredCall } from '../../../src/protocol/jobs/job-calls.js';
import type { StoredClaim } from '../../../src/protocol/jobs/job-claims.js';
import type { Change } from '../../judge/oplog-entry.js';

/** One claim, and the instants that it counts for: those after the last claim, and its own. */
export interface Claimed {
  readonly instantMs: number;
  readonly afterMs: number;
  readonly anchorMs: number;
  /** The process of the leader. */
  readonly process: string;
  readonly wallMs: number;
  /** The number of the call that it answers. */
  readonly call: number | undefined;
  /** Whether the document was lost before another claim followed. An old copy comes back only after a loss. */
  isUndone: boolean;
}

/** The numbers of the last call and of the last call that was claimed. */
interface CallNumbers {
  readonly asked: number;
  readonly claimed: number;
  /** The server's time until which the last call may be claimed. */
  readonly untilMs: number;
}

/** The claims of the only job of an election, in their order. */
export function claimsIn(changes: readonly Change[]): readonly Claimed[] {
  const claims: Claimed[] = [];
  let [lastId, lastMs]: [string | undefined, number | undefined] = [undefined, undefined];
  const known = new Set<string>();
  for (const { before, after, wallMs } of changes) {
    // A lost document has no claims, and an old copy of it those of its time.
    if (after === null) {
      const last = claims.at(-1);
      if (last !== undefined) last.isUndone = true;
      [lastId, lastMs] = [undefined, undefined];
    }
    const stored = claimOf(after);
    if (stored === undefined || stored.claimId === lastId) continue;
    const [instantMs, anchorMs] = [stored.instant.getTime(), stored.anchor.getTime()];
    const { process = '' } = (after?.['holder'] ?? {}) as { readonly process?: string };
    const { claimed } = numbersIn(after);
    const call = claimed > numbersIn(before).claimed ? claimed : undefined;
    const afterMs = lastMs ?? anchorMs - 1;
    if (!known.has(stored.claimId))
      claims.push({ instantMs, afterMs, anchorMs, process, wallMs, call, isUndone: false });
    known.add(stored.claimId);
    [lastId, lastMs] = [stored.claimId, instantMs];
  }
  return claims;
}

/** How many different claims of each instant were stored. */
export function claimCounts(changes: readonly Change[]): ReadonlyMap<number, number> {
  const ids = new Map<number, Set<string>>();
  for (const { after } of changes) {
    for (const { instant, claimId } of (after?.['claims'] ?? []) as readonly StoredClaim[]) {
      ids.set(instant.getTime(), (ids.get(instant.getTime()) ?? new Set()).add(claimId));
    }
  }
  return new Map([...ids].map(([ms, { size }]) => [ms, size]));
}

export const claimOf = (document: Change['after']): StoredClaim | undefined =>
  ((document?.['claims'] ?? []) as readonly StoredClaim[])[0];

export function numbersIn(document: Change['after']): CallNumbers {
  const [stored] = (document?.['calls'] ?? []) as readonly StoredCall[];
  if (stored === undefined) return { asked: 0, claimed: 0, untilMs: 0 };
  const { asked, claimed, until } = stored;
  return { asked, claimed, untilMs: until.getTime() };
}
