import type { Lease } from '../../../src/protocol/lock-document.js';
import { readWake } from '../../../src/protocol/wake.js';
import { permitsOf } from '../../../src/testing/judge/legality.js';
import { leaseOf } from '../../../src/testing/judge/step.js';
import type { Version } from '../../../src/testing/judge/lock-version.js';
import { lastTokenOf } from '../../../src/testing/judge/token-blocks.js';
import type { Eviction, Interventions, LeaseTokens, StoredLimit } from '../../faults/history.js';
import type { Change } from '../../judge/oplog-entry.js';
import type { WhenOf } from './server-time.js';
import { versionOf } from './parsed-versions.js';

/** What operators did, as these versions show it. */
export function interventionsIn(changes: readonly Change[], when: WhenOf): Interventions {
  const evictions: Eviction[] = [];
  const grantLimits: Interventions['grantLimits'][number][] = [];
  for (const { name, before, after, wallMs } of changes) {
    const [was, is] = [versionOf(before), versionOf(after)];
    for (const lease of evictedIn(was, is, wallMs)) {
      evictions.push({ ...tokensOf(name, lease), atNs: nsText(when(wallMs).earliestMs) });
    }
    if (is.limit === undefined) continue;
    // An update of several operations may change the limit before a grant or after it. What fits into the lower one of
    // the two limits needs no other.
    const [lower = is.limit, higher = is.limit] = [is.limit, was.limit ?? is.limit].toSorted((a, b) => a - b);
    const limit = permitsOf(is.leases) <= lower ? lower : higher;
    for (const lease of newGrantsIn(was, is)) grantLimits.push({ ...tokensOf(name, lease), limit });
  }
  return { evictions, grantLimits, limits: limitsIn(changes, when) };
}

/** The grant of a lease. A change of mode gives another token, and keeps the one of the grant as the first. */
export const grantOf = ({ firstToken, token }: Lease): number => firstToken ?? token;

/** The lease of the same grant in another version. */
export function sameGrantIn(version: Version, lease: Lease): Lease | undefined {
  const other = leaseOf(version, lease.id);
  return other !== undefined && grantOf(other) === grantOf(lease) ? other : undefined;
}

/** The leases whose seats this update emptied by force: it names their processes, and they did not leave. */
export function evictedIn(was: Version, is: Version, wallMs: number): readonly Lease[] {
  const words = readWake(is.wake);
  return was.leases.filter(
    (lease) =>
      lease.expiresAt.getTime() > wallMs &&
      sameGrantIn(is, lease) === undefined &&
      words.includes(`${lease.process}:${lease.id}:0`) &&
      !words.some((word) => word.startsWith(`-${lease.id}:`) && !word.endsWith(':0')),
  );
}

const newGrantsIn = (was: Version, is: Version): readonly Lease[] =>
  is.leases.filter((lease) => sameGrantIn(was, lease) === undefined);

const tokensOf = (lock: string, lease: Lease): LeaseTokens => {
  const firstToken = grantOf(lease);
  const lastToken = firstToken === lease.token ? lastTokenOf(lease) : firstToken;
  return { lock, id: lease.id, firstToken, lastToken };
};

function limitsIn(changes: readonly Change[], when: WhenOf): readonly StoredLimit[] {
  const limits: StoredLimit[] = [];
  const open = new Map<string, { readonly limit: number; readonly fromNs: string }>();
  for (const { name, after, wallMs } of changes) {
    const { limit } = versionOf(after);
    const before = open.get(name);
    if (before?.limit === limit) continue;
    const { earliestMs, latestMs } = when(wallMs);
    if (before !== undefined) limits.push({ lock: name, ...before, untilNs: nsText(latestMs) });
    open.delete(name);
    if (limit !== undefined) open.set(name, { limit, fromNs: nsText(earliestMs) });
  }
  const last = [...open].map(([lock, before]) => ({
    lock,
    ...before,
    untilNs: nsText(Number.MAX_SAFE_INTEGER / 1e6),
  }));
  return [...limits, ...last];
}

const nsText = (ms: number): string => String(Math.floor(ms * 1e6));
