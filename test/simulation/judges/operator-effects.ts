import { revocationOf } from '../../../src/protocol/pipeline/revocation.js';
import type { Lease } from '../../../src/protocol/lock-document.js';
import type { Version } from '../../../src/testing/judge/lock-version.js';
import { hasToken } from '../../../src/testing/judge/token-blocks.js';
import type { Ask } from '../../judge/asks.js';
import type { Change } from '../../judge/oplog-entry.js';
import { evictedIn, grantOf, sameGrantIn } from './interventions.js';
import type { OperatorCall } from './operator-calls.js';
import type { When, WhenOf } from './server-time.js';
import { versionOf } from './parsed-versions.js';

/** Something that only an operator does, as a version shows it. */
export interface Effect {
  readonly does: OperatorCall['does'];
  readonly lock: string;
  readonly when: When;
  /** The lease that a revocation ends. */
  readonly lease?: Lease;
  /** The process that revoked, if the document has a record of the revocation. */
  readonly by?: string | undefined;
  /** The limit that a resize set. */
  readonly limit?: number | undefined;
}

export const effectsIn = (changes: readonly Change[], when: WhenOf): readonly Effect[] =>
  changes.flatMap((change) => [...effectsOf(change, when)]);

function* effectsOf(change: Change, when: WhenOf): Iterable<Effect> {
  const { name: lock, before, after, wallMs } = change;
  const [was, is] = [versionOf(before), versionOf(after)];
  const at = when(wallMs);
  const byOf = (lease: Lease): string | undefined => revocationOf(after?.['revoked'], grantOf(lease))?.by;
  for (const lease of evictedIn(was, is, wallMs)) {
    yield { does: 'evict', lock, when: at, lease, by: byOf(lease) };
  }
  for (const lease of markedIn(was, is)) {
    yield { does: 'ask', lock, when: at, lease, by: byOf(lease) };
  }
  // A lock that is created has the limit of the request that creates it.
  if (was.limit !== undefined && is.limit !== undefined && was.limit !== is.limit) {
    yield { does: 'resize', lock, when: at, limit: is.limit };
  }
}

const markedIn = (was: Version, is: Version): readonly Lease[] =>
  is.leases.filter((lease) => lease.ending === true && sameGrantIn(was, lease)?.ending !== true);

/** A leader whose work outlives its drain marks its own lease, and no record says so. */
export const mayBeOwnMark = ({ does, lease, by }: Effect): boolean =>
  does === 'ask' && by === undefined && lease?.candidateId !== undefined;

/** Whether this hold has the lease: its token is the one of the grant, or one that the grant has reserved. */
export function isHoldOf({ lock, granted }: Ask, { lock: revoked, lease }: Effect): boolean {
  if (lease === undefined || granted === undefined || lock !== revoked || granted.id !== lease.id)
    return false;
  // A change of mode keeps the first token.
  return hasToken({ ...lease, token: grantOf(lease) }, granted.token);
}
