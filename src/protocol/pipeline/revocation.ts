import { NOW, all, bind, equal, hasType, literal, match, filter, typeOf, when } from '../expressions.js';
import type { Expression, Stage } from '../expressions.js';
import type { Revocation, Revoking } from '../operation.js';
import type { KindRules } from '../kind-rules.js';
import { firstTokenAt, isOneOf } from '../stored-lease.js';

/**
 * A record in `revoked`, the array of a document's last revocations. The field is missing before the first revocation.
 * A record tells a process why its lease is marked as ending or is gone. Nothing else depends on a record, so a
 * malformed one does not make the document corrupt: the reader ignores it.
 *
 * A record names its leases by a range, from the lowest to the highest token of their grants. So the size of a record
 * does not grow with the number of leases. No two grants of a lock have the same token. If a change of mode gives a
 * lease a new token, the lease keeps the token of its grant as `firstToken`, so that token names the lease until its
 * end.
 *
 * A polite revocation leaves out the leases that are ending already, but the range of its record may contain their
 * tokens. So, if several polite records name a lease, `revocationOf` takes the first.
 */
interface StoredRevocation {
  /** The lowest and the highest token of the grants of the revoked leases. */
  readonly from: number;
  readonly to: number;
  /** The provider that revoked: its label, if it has one, and its process id. */
  readonly by: string;
  readonly why?: string;
  readonly forced: boolean;
  /** The latest expiry of the revoked leases. Once it has passed, the next recorded revocation drops this record. */
  readonly until: Date;
}

/**
 * The most records of a document. A further record replaces the oldest one, even if leases that the oldest one names
 * are live.
 */
const MAX_RECORDS = 8;

const IS_CURRENT: Expression = all(
  match([
    [typeOf('$$this.from'), 'long'],
    [typeOf('$$this.to'), 'long'],
    [typeOf('$$this.by'), 'string'],
    [typeOf('$$this.until'), 'date'],
  ]),
  { $gt: ['$$this.until', NOW] },
);

/** Records the revocation of these leases, if it has a `by`. Later stages mark or evict the leases. */
export function recordRevocation(
  rules: KindRules,
  { ids, by, why }: Revoking,
  forced: boolean,
): readonly Stage[] {
  if (by === undefined) return [];
  const entry: Expression = {
    from: { $min: '$$tokens' },
    to: { $max: '$$tokens' },
    by: literal(by),
    ...(why === undefined ? {} : { why: literal(why) }),
    forced,
    until: { $max: '$victims.expiresAt' },
  };
  const current = when(hasType('$was.revoked', 'array'), filter('$was.revoked', IS_CURRENT), []);
  const tokens = { $map: { input: '$victims', in: firstTokenAt('$$this') } };
  const recorded: Expression = {
    $slice: [{ $concatArrays: [current, [bind({ tokens }, entry)]] }, -MAX_RECORDS],
  };
  const isAsked = isOneOf('$$this', ids);
  // A polite revocation records no lease that is ending already: the first record of that lease counts.
  const isVictim = forced ? isAsked : all(isAsked, { $ne: ['$$this.ending', true] });
  return [
    { $set: { victims: filter(rules.leases, isVictim) } },
    { $set: { 'was.revoked': when(equal('$victims', []), '$was.revoked', recorded) } },
  ];
}

/**
 * The revocation of the lease whose grant had this token; `undefined`: no record names the lease. If several records
 * name the lease, the first record by force counts: that revocation ended the lease, and the range of a later record
 * may contain the token of a lease that was gone before. If no record is by force, the first record counts.
 */
export function revocationOf(revoked: unknown, token: number): Revocation | undefined {
  if (!Array.isArray(revoked)) return undefined;
  const records: readonly unknown[] = revoked;
  const own = records.filter(isStoredRevocation).filter(({ from, to }) => from <= token && token <= to);
  const counts = own.find(({ forced }) => forced) ?? own[0];
  return counts && { by: counts.by, why: counts.why };
}

/** Only the server uses `until`, so it is not checked. */
function isStoredRevocation(value: unknown): value is Omit<StoredRevocation, 'until'> {
  if (typeof value !== 'object' || value === null) return false;
  const { from, to, by, why, forced } = value as Readonly<Record<string, unknown>>;
  return (
    Number.isSafeInteger(from) &&
    Number.isSafeInteger(to) &&
    typeof by === 'string' &&
    (why === undefined || typeof why === 'string') &&
    typeof forced === 'boolean'
  );
}
