import {
  NOW,
  all,
  any,
  equal,
  hasType,
  idText,
  isIn,
  literal,
  match,
  not,
  those,
  typeOf,
  when,
} from './expressions.js';
import type { Expression, Stage } from './expressions.js';
import type { Claim } from './operation.js';
import { answered } from './wake.js';

/**
 * The instants that the jobs of an election have claimed: `claims` is an array of one entry for each job, missing before
 * the first claim. Job names may have any characters, so they are values and no field names.
 *
 * The claims are no part of the seats: every transition, and other kinds of locks, leave them as they are.
 */
export interface StoredClaim {
  readonly job: string;
  /** The last instant that was claimed. */
  readonly instant: Date;
  /** Names that claim: by it a repeat is known. */
  readonly claimId: string;
  /** The first instant that was ever claimed: a fixed rate counts from it. */
  readonly anchor: Date;
}

/** An election with so many jobs takes no more: none of them may be forgotten, or its instants would start again. */
export const MAX_JOBS = 1_000;

/**
 * What becomes of a claim.
 *
 * - `claimed`: the instant is this term's to start, by this claim or an earlier copy of it.
 * - `deposed`: the lease is not that of a live term, or it was asked for.
 * - `outdated`: the last claim of the job is another one than the claim says.
 * - `early`: by the server's clock, the instant is still to come.
 * - `full`: a new job, and there are `MAX_JOBS`.
 */
export type ClaimOutcome = 'claimed' | 'deposed' | 'outdated' | 'early' | 'full';

/** Between the two, processes can compute with it, and write it down. */
const isInstant = (at: string): Expression =>
  all({ $gte: [at, new Date(0)] }, { $lt: [at, new Date('9999-01-01T00:00:00Z')] });

const IS_CLAIM: Expression = all(
  match([
    [typeOf('$$this.job'), 'string'],
    [typeOf('$$this.instant'), 'date'],
    [typeOf('$$this.claimId'), 'string'],
    [typeOf('$$this.anchor'), 'date'],
  ]),
  isInstant('$$this.instant'),
  isInstant('$$this.anchor'),
);

/** Whether the stored claims can be computed with: each is one, and no job has two. Never fails. */
export const hasSoundClaims: Expression = any(
  hasType('$claims', 'missing'),
  all(
    hasType('$claims', 'array'),
    equal(those('$claims', not(IS_CLAIM)), []),
    equal({ $size: { $setUnion: ['$claims.job'] } }, { $size: '$claims' }),
  ),
);

const STORED: Expression = { $ifNull: ['$was.claims', []] };

/** The term of this attempt goes on, by the server's clock and without the transition, and nobody asks for its end. */
const isTermOf = (id: string): Expression =>
  all(
    equal('$holder.id', idText(id)),
    { $gt: [{ $subtract: ['$holder.expiresAt', '$holder.transitionMs'] }, NOW] },
    { $ne: ['$holder.ending', true] },
  );

/** The first of these that holds. A repeat is answered as its first copy was, whatever has happened since. */
function outcomeOf({ id, after, instant, claimId }: Claim): Expression {
  const last: Expression = { $ifNull: [{ $first: '$own.instant' }, null] };
  const branches: readonly (readonly [Expression, ClaimOutcome])[] = [
    [isIn(literal(claimId), '$own.claimId'), 'claimed'],
    [not(isTermOf(id)), 'deposed'],
    // By what the claim says of the last one nothing can be claimed, or told as missed, a second time.
    [any(not(equal(last, after)), { $gte: [last, instant] }), 'outdated'],
    [{ $gt: [instant, NOW] }, 'early'],
    [all(equal('$own', []), { $gte: [{ $size: STORED }, MAX_JOBS] }), 'full'],
  ];
  const cases = branches.map(([condition, outcome]) => ({ case: condition, then: outcome }));
  return { $switch: { branches: cases, default: 'claimed' satisfies ClaimOutcome } };
}

/** The claims with this one in the place of the job's last. */
function withClaim({ job, instant, claimId }: Claim): Expression {
  const entry: Expression = {
    job: literal(job),
    instant,
    claimId: literal(claimId),
    anchor: { $ifNull: [{ $first: '$own.anchor' }, instant] },
  };
  return when(
    equal('$own', []),
    { $concatArrays: [STORED, [entry]] },
    { $map: { input: STORED, in: when(equal('$$this.job', literal(job)), entry, '$$this') } },
  );
}

export function claim(operation: Claim): readonly Stage[] {
  const ofJob = those(when('$ok', STORED, []), equal('$$this.job', literal(operation.job)));
  return [
    { $set: { own: ofJob } },
    { $set: { outcome: outcomeOf(operation) } },
    {
      $set: {
        'was.claims': when(equal('$outcome', 'claimed'), withClaim(operation), '$was.claims'),
        wake: answered(operation.nonce, '$outcome'),
      },
    },
  ];
}

/** Whether an update did nothing but grant claims, as far as its words tell. */
export const onlyClaims = (words: readonly string[]): boolean =>
  words.length > 0 && words.every((word) => /^\+[^:]+:claimed$/.test(word));
