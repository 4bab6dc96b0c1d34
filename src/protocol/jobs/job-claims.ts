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
  merge,
  not,
  typeOf,
  when,
} from '../expressions.js';
import { hasSoundCalls, isCallPending, withCallClaimed } from './job-calls.js';
import type { Expression, Fields, Stage } from '../expressions.js';
import { isOfJob, isSoundList, ownEntry, storedList, withEntry } from './job-list.js';
import { MAX_JOBS } from '../lock-document.js';
import type { Claim, Conclude, RunOutcome } from '../operation.js';
import { answered } from '../wake.js';

/**
 * The instants that the jobs of an election have claimed: a list `claims` with one entry for each job.
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
  /** The last run; `undefined`: only missed instants were claimed, or an older release claimed last. */
  readonly run?: StoredRun;
}

/** The last run of a job. Without an outcome it goes on, or its process could not store how it ended. */
export interface StoredRun {
  /** The instant that it was claimed for. */
  readonly instant: Date;
  /** When it was claimed, by the server's clock. */
  readonly startedAt: Date;
  /** The attempt id of the leader's term. */
  readonly term: string;
  readonly process: string;
  readonly candidateId: string;
  readonly outcome?: RunOutcome;
  readonly endedAt?: Date;
}

/**
 * What becomes of a claim.
 *
 * - `claimed`: the instant is this term's to start, by this claim or an earlier copy of it.
 * - `outdated`: the last claim of the job is another one than the claim says.
 * - `deposed`: the lease is not that of a live term, or it was asked for. No copy of the claim has taken effect, or will.
 * - `early`: by the server's clock, the instant is still to come.
 * - `uncalled`: the call that it answers is not there any more.
 * - `full`: a new job, and there are `MAX_JOBS`.
 */
export type ClaimOutcome = 'claimed' | 'outdated' | 'deposed' | 'early' | 'uncalled' | 'full';

/** Between the two, processes can compute with it, and write it down. */
const isInstant = (at: string): Expression =>
  all({ $gte: [at, new Date(0)] }, { $lt: [at, new Date('9999-01-01T00:00:00Z')] });

const isMissingOr = (at: string, type: string): Expression => isIn(typeOf(at), ['missing', type]);

const IS_RUN: Expression = all(
  match([
    [typeOf('$$this.run.instant'), 'date'],
    [typeOf('$$this.run.startedAt'), 'date'],
    [typeOf('$$this.run.term'), 'string'],
    [typeOf('$$this.run.process'), 'string'],
    [typeOf('$$this.run.candidateId'), 'string'],
  ]),
  isMissingOr('$$this.run.outcome', 'string'),
  isMissingOr('$$this.run.endedAt', 'date'),
  isInstant('$$this.run.instant'),
  isInstant('$$this.run.startedAt'),
  any(hasType('$$this.run.endedAt', 'missing'), isInstant('$$this.run.endedAt')),
);

const IS_CLAIM: Expression = all(
  match([
    [typeOf('$$this.job'), 'string'],
    [typeOf('$$this.instant'), 'date'],
    [typeOf('$$this.claimId'), 'string'],
    [typeOf('$$this.anchor'), 'date'],
  ]),
  isInstant('$$this.instant'),
  isInstant('$$this.anchor'),
  any(hasType('$$this.run', 'missing'), IS_RUN),
);

/** Whether what is stored of the jobs can be computed with. Never fails. */
export const hasSoundJobs: Expression = all(isSoundList('claims', IS_CLAIM), hasSoundCalls);

/** The term of this attempt goes on, by the server's clock and without the transition, and nobody asks for its end. */
const isTermOf = (id: string): Expression =>
  all(
    equal('$holder.id', idText(id)),
    { $gt: [{ $subtract: ['$holder.expiresAt', '$holder.transitionMs'] }, NOW] },
    { $ne: ['$holder.ending', true] },
  );

const isRepeated = (claimId: string): Expression => isIn(literal(claimId), '$own.claimId');

/** The first of these that holds. A repeat is answered as its first copy was, whatever has happened since. */
function outcomeOf({ id, job, after, instant, claimId, call }: Claim): Expression {
  const last: Expression = { $ifNull: [{ $first: '$own.instant' }, null] };
  const branches: readonly (readonly [Expression, ClaimOutcome])[] = [
    [isRepeated(claimId), 'claimed'],
    // By what the claim says of the last one nothing can be claimed, or told as missed, a second time. Judged before the
    // term: so `deposed` says that no earlier copy of the claim took effect.
    [any(not(equal(last, after)), { $gte: [last, instant] }), 'outdated'],
    [not(isTermOf(id)), 'deposed'],
    [{ $gt: [instant, NOW] }, 'early'],
    ...(call === undefined ? [] : [[not(isCallPending(job, call)), 'uncalled'] as const]),
    [all(equal('$own', []), { $gte: [{ $size: storedList('claims') }, MAX_JOBS] }), 'full'],
  ];
  const cases = branches.map(([condition, outcome]) => ({ case: condition, then: outcome }));
  return { $switch: { branches: cases, default: 'claimed' satisfies ClaimOutcome } };
}

/** The claims with this one in the place of the job's last. What else the entry says stays, the last run for instance. */
function withClaim({ job, instant, claimId, anchor = instant, runs = false }: Claim): Expression {
  const run: Fields = {
    instant,
    startedAt: NOW,
    term: '$holder.id',
    process: '$holder.process',
    candidateId: '$holder.candidateId',
  };
  const entry = merge(
    { $first: '$own' },
    {
      job: literal(job),
      instant,
      claimId: literal(claimId),
      anchor: { $ifNull: [{ $first: '$own.anchor' }, anchor] },
      ...(runs ? { run } : {}),
    },
  );
  return withEntry('claims', job, entry);
}

export function claim(operation: Claim): readonly Stage[] {
  const { job, claimId, call, nonce } = operation;
  // A repeat writes nothing of the claim: its term may be over, and its run may have ended.
  const isTaken = all(equal('$outcome', 'claimed'), not(isRepeated(claimId)));
  // A claim that answers a call is refused unless that call is pending, so its list is stored.
  const calls: Fields =
    call === undefined ? {} : { 'was.calls': when(isTaken, withCallClaimed(job, call), '$was.calls') };
  return [
    { $set: { own: ownEntry('claims', job) } },
    { $set: { outcome: outcomeOf(operation) } },
    {
      $set: {
        'was.claims': when(isTaken, withClaim(operation), '$was.claims'),
        ...calls,
        wake: answered(nonce, '$outcome'),
      },
    },
  ];
}

/** Stores how a run ended, unless another run has been claimed since. Needs no term: the run may have outlived it. */
export function conclude({ id, job, instant, outcome, nonce }: Conclude): readonly Stage[] {
  const isIt = all(
    isOfJob(job),
    equal('$$this.run.instant', instant),
    equal('$$this.run.term', idText(id)),
    hasType('$$this.run.outcome', 'missing'),
  );
  const concluded = merge('$$this', { run: merge('$$this.run', { outcome, endedAt: NOW }) });
  const isAny = all('$ok', hasType('$was.claims', 'array'));
  return [
    {
      $set: {
        'was.claims': when(
          isAny,
          { $map: { input: '$was.claims', in: when(isIt, concluded, '$$this') } },
          '$was.claims',
        ),
        wake: answered(nonce, CONCLUDED),
      },
    },
  ];
}

const CONCLUDED = 'concluded';

/** Whether an update did nothing but grant claims, or store how their runs ended, as far as its words tell. */
export const onlyClaims = (words: readonly string[]): boolean =>
  words.length > 0 && words.every((word) => /^\+[^:]+:(claimed|concluded)$/.test(word));
