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
import { hasWellFormedCalls, isCallPending, withCallClaimed } from './job-calls.js';
import type { Expression, Fields, Stage } from '../expressions.js';
import { isOfJob, isWellFormedList, ownEntry, storedList, withEntry } from './job-list.js';
import { MAX_JOBS } from '../lock-document.js';
import type { Claim, ClaimWithoutTerm, Conclude, RunOutcome } from '../operation.js';
import { isTermOver } from '../stored-lease.js';
import { answered } from '../wake.js';

/**
 * The last claim of a job: an entry of the list `claims`.
 *
 * The claims are not a part of the seats. Only a claim and the end of a run change them, and they stay in the document
 * while another kind of lock uses it.
 */
export interface StoredClaim {
  readonly job: string;
  readonly instant: Date;
  /** Names the claim, so that a repeat is recognised. */
  readonly claimId: string;
  /**
   * The instant from which a fixed rate counts: the first instant that the job claimed. If the first claim answered a
   * call, the anchor is the first instant of the schedule, which may be later than that claim.
   */
  readonly anchor: Date;
  /** `undefined`: no run was claimed, or an older release of the library claimed last. */
  readonly run?: StoredRun;
}

/** The last run of a job. A run without an outcome goes on, or nobody has stored how the run ended. */
export interface StoredRun {
  readonly instant: Date;
  /** The server time of the claim. */
  readonly startedAt: Date;
  /** The attempt id of the leader's term; for a claim without a term, the claim id. */
  readonly term: string;
  readonly process: string;
  readonly candidateId: string;
  /** The next instant of the schedule, if it was known at the claim. For people to read: no decision depends on it. */
  readonly next?: Date;
  readonly outcome?: RunOutcome;
  readonly endedAt?: Date;
}

/**
 * The outcome of a claim.
 *
 * - `claimed`: this claim, or an earlier copy of it, was applied. The term may start the run.
 * - `outdated`: the last claimed instant of the job differs from the field `after` of the claim, or is not before
 *   `instant`.
 * - `deposed`: the term is over, or its lease is ending. No copy of the claim was applied, and none will be. (Only a
 *   server clock that is set back could make the term go on.)
 * - `early`: the server's clock has not reached the instant.
 * - `uncalled`: the call that the claim answers is not pending any more.
 * - `full`: the job is new, and there are `MAX_JOBS` jobs already.
 */
export type ClaimOutcome = 'claimed' | 'outdated' | 'deposed' | 'early' | 'uncalled' | 'full';

/** Whether a date is between 1970 and 9998, so that processes can compute with it and print it. */
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

/** Whether the stored claims and calls are well-formed. Whatever is stored, this expression raises no error. */
export const hasWellFormedJobs: Expression = all(isWellFormedList('claims', IS_CLAIM), hasWellFormedCalls);

/** Whether this term goes on: its lease is not ending, and the transition of the election has not begun. */
const isTerm = (id: string, token: number): Expression =>
  all(
    equal('$holder.id', idText(id)),
    equal('$holder.token', token),
    { $ne: ['$holder.ending', true] },
    not(isTermOver('$holder')),
  );

/**
 * The outcome of a claim without a term.
 *
 * - `claimed`: this claim, or an earlier copy of it, was applied. The process may start the run.
 * - `taken`: another claim of the same instant was applied. No copy of this claim was applied, and none will be.
 * - `outdated`: a later instant of the job was claimed.
 * - `early`, `full`: as for a claim of a term.
 */
export type OutcomeWithoutTerm = 'claimed' | 'taken' | 'outdated' | 'early' | 'full';

const isRepeated = (claimId: string): Expression => isIn(literal(claimId), '$own.claimId');

/** The last claimed instant of the job; `null`, which is less than any date: none. */
const LAST_INSTANT: Expression = { $ifNull: [{ $first: '$own.instant' }, null] };

/** Whether the job is new and there is no room for another one. */
const IS_FULL: Expression = all(equal('$own', []), {
  // In a corrupt document, the list may be of any type.
  $gte: [{ $size: when('$ok', storedList('claims'), []) }, MAX_JOBS],
});

/**
 * The outcome of the first branch whose condition holds, else `claimed`. A repeat of an applied claim gets `claimed`
 * again, until a later claim of the job is applied.
 */
function outcomeOf({ id, token, job, after, instant, claimId, call }: Claim): Expression {
  return firstThatHolds<ClaimOutcome>('claimed', [
    [isRepeated(claimId), 'claimed'],
    // A claim names the last claimed instant in `after`, so no two claims take the same instant or find the same missed
    // instants. This branch comes before the branch `deposed`. So `deposed` proves that no copy of the claim was
    // applied before: an applied copy would have replaced the last claimed instant.
    [any(not(equal(LAST_INSTANT, after)), { $gte: [LAST_INSTANT, instant] }), 'outdated'],
    [not(isTerm(id, token)), 'deposed'],
    [{ $gt: [instant, NOW] }, 'early'],
    ...(call === undefined ? [] : [[not(isCallPending(job, call)), 'uncalled'] as const]),
    [IS_FULL, 'full'],
  ]);
}

function outcomeWithoutTermOf({ instant, claimId }: ClaimWithoutTerm): Expression {
  return firstThatHolds<OutcomeWithoutTerm>('claimed', [
    [isRepeated(claimId), 'claimed'],
    [equal(LAST_INSTANT, instant), 'taken'],
    [{ $gt: [LAST_INSTANT, instant] }, 'outdated'],
    [{ $gt: [instant, NOW] }, 'early'],
    [IS_FULL, 'full'],
  ]);
}

function firstThatHolds<T extends string>(
  otherwise: T,
  branches: readonly (readonly [Expression, T])[],
): Expression {
  const cases = branches.map(([condition, outcome]) => ({ case: condition, then: outcome }));
  return { $switch: { branches: cases, default: otherwise } };
}

/** What a claim stores in the entry of its job. */
interface Claimed extends Pick<Claim, 'job' | 'instant' | 'claimId' | 'anchor'> {
  /** The run that begins with the claim; `undefined`: no run begins, and the last run stays stored. */
  readonly run?: Fields | undefined;
}

/** The list `claims` with this claim as the job's last one. */
function withClaim({ job, instant, claimId, anchor = instant, run }: Claimed): Expression {
  const entry = merge(
    { $first: '$own' },
    {
      job: literal(job),
      instant,
      claimId: literal(claimId),
      anchor: { $ifNull: [{ $first: '$own.anchor' }, anchor] },
      ...(run === undefined ? {} : { run }),
    },
  );
  return withEntry('claims', job, entry);
}

export function claim(operation: Claim): readonly Stage[] {
  const { job, instant, claimId, anchor, next, runs, call, nonce } = operation;
  const run: Fields = {
    instant,
    startedAt: NOW,
    term: '$holder.id',
    process: '$holder.process',
    candidateId: '$holder.candidateId',
    ...(next === undefined ? {} : { next }),
  };
  const claimed = withClaim({ job, instant, claimId, anchor, run: runs === true ? run : undefined });
  // A repeat leaves the entry as it is. The lease in `$holder` may be that of a later term by now, so a new run would
  // name the wrong term. And the stored end of the run must stay.
  const isTaken = isApplied(claimId);
  // A claim that answers a call is applied only if that call is pending, so the list `calls` is never missing here.
  const calls: Fields =
    call === undefined ? {} : { 'was.calls': when(isTaken, withCallClaimed(job, call), '$was.calls') };
  return [
    { $set: { own: ownEntry('claims', job) } },
    { $set: { outcome: outcomeOf(operation) } },
    {
      $set: {
        'was.claims': when(isTaken, claimed, '$was.claims'),
        ...calls,
        wake: answered(nonce, '$outcome'),
      },
    },
  ];
}

/**
 * The stored run has the claim id where the run of a term has the attempt id of the term. No `conclude` follows,
 * because the process does not learn how the run has ended.
 */
export function claimWithoutTerm(operation: ClaimWithoutTerm): readonly Stage[] {
  const { job, instant, claimId, process, nonce } = operation;
  const run: Fields = {
    instant,
    startedAt: NOW,
    term: literal(claimId),
    process: literal(process),
    candidateId: literal(process),
  };
  return [
    { $set: { own: ownEntry('claims', job) } },
    { $set: { outcome: outcomeWithoutTermOf(operation) } },
    {
      $set: {
        'was.claims': when(isApplied(claimId), withClaim({ job, instant, claimId, run }), '$was.claims'),
        wake: answered(nonce, '$outcome'),
      },
    },
  ];
}

/**
 * Whether this copy of the claim is applied. No claim is applied to a document that is corrupt or of another kind. A
 * repeat of an applied claim gets the answer `claimed` in `wake`, and changes nothing else.
 */
const isApplied = (claimId: string): Expression =>
  all('$ok', equal('$outcome', 'claimed'), not(isRepeated(claimId)));

/**
 * Stores how a run ended, unless its end is stored already or another run was claimed since. The term may be over: a
 * run may outlive it.
 */
export function conclude({ id, job, instant, outcome, nonce }: Conclude): readonly Stage[] {
  const isThisRun = all(
    isOfJob(job),
    equal('$$this.run.instant', instant),
    equal('$$this.run.term', idText(id)),
    hasType('$$this.run.outcome', 'missing'),
  );
  const concluded = merge('$$this', { run: merge('$$this.run', { outcome, endedAt: NOW }) });
  const hasClaims = all('$ok', hasType('$was.claims', 'array'));
  return [
    {
      $set: {
        'was.claims': when(
          hasClaims,
          { $map: { input: '$was.claims', in: when(isThisRun, concluded, '$$this') } },
          '$was.claims',
        ),
        wake: answered(nonce, CONCLUDED),
      },
    },
  ];
}

const CONCLUDED = 'concluded';

/** Whether these words, at least one, tell only of granted claims and of ends of runs. */
export const onlyClaims = (words: readonly string[]): boolean =>
  words.length > 0 && words.every((word) => /^\+[^:]+:(claimed|concluded)$/.test(word));
