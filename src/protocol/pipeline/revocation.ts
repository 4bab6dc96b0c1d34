import { NOW, all, bind, equal, hasType, literal, match, filter, typeOf, when } from '../expressions.js';
import type { Expression, Stage } from '../expressions.js';
import type { Revocation, Revoking } from '../operation.js';
import type { Seats } from '../seats.js';
import { firstTokenAt, isOneOf } from '../stored-lease.js';

/**
 * What a lock document keeps of the revocations of its leases: `revoked`, an array that is missing until the first one.
 * It tells a process why its lease is marked as ending, or is gone, and nothing else depends on it. So no check looks at
 * it: a wrong record makes no document corrupt, and is not believed.
 *
 * A record names its leases by the tokens that they were granted with, of which no two leases of a lock have the same, and
 * which no change of mode changes. It has the same size for thousands of leases, and is dropped when they would have ended
 * and another revocation comes.
 */
interface StoredRevocation {
  /** The lowest and the highest of the tokens that the leases which were revoked had first. */
  readonly from: number;
  readonly to: number;
  /** Who revoked: the label and the process id of a provider. */
  readonly by: string;
  readonly why?: string;
  readonly forced: boolean;
}

/** With more revocations than this within one lease, the reason of the oldest is lost. */
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

/** Records that these leases are revoked, before anything is done to them. */
export function record(seats: Seats, { ids, by, why }: Revoking, forced: boolean): readonly Stage[] {
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
  // What the first polite one said stays, however often it is repeated.
  const isVictim = forced ? isAsked : all(isAsked, { $ne: ['$$this.ending', true] });
  return [
    { $set: { victims: filter(seats.leases, isVictim) } },
    { $set: { 'was.revoked': when(equal('$victims', []), '$was.revoked', recorded) } },
  ];
}

/**
 * Why the lease that was granted with this token was revoked; `undefined`: nothing says that it was. If several revocations concern it, the
 * last one by force counts, because that one has ended the lease; if there is none, the first one.
 */
export function revocationOf(revoked: unknown, token: number): Revocation | undefined {
  if (!Array.isArray(revoked)) return undefined;
  const records: readonly unknown[] = revoked;
  const own = records.filter(isRecord).filter(({ from, to }) => from <= token && token <= to);
  const counts = own.findLast(({ forced }) => forced) ?? own[0];
  return counts && { by: counts.by, why: counts.why };
}

function isRecord(value: unknown): value is StoredRevocation {
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
