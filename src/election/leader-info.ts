import { CorruptLockDocumentError } from '../errors.js';
import type { LeaseholdError } from '../leasehold-error.js';
import { electionRules } from '../protocol/kinds/election-rules.js';
import { NOW, STORED_WAITERS, isLive, filter } from '../protocol/expressions.js';
import type { Fields } from '../protocol/expressions.js';
import { wellFormedProjection } from '../protocol/pipeline/verdict.js';
import type { Lease, Waiter } from '../protocol/lock-document.js';
import type { LockCollection } from '../store/lock-collection.js';
import { unavailable } from '../store/unavailable.js';

/** The leader of an election as it is stored. All times are the server's. */
export interface LeaderInfo {
  /** The name of the candidate that leads. */
  readonly candidateId: string;
  /** `host:pid:random` of the leader's provider. */
  readonly processId: string;
  /** The text that the leader publishes. */
  readonly value: string;
  /** The token of the leader's term. */
  readonly token: number;
  /** When the term began. */
  readonly electedAt: Date;
  /**
   * When the term of the leader ends unless its lease is extended. The stored lease lasts longer, by the transition.
   */
  readonly expiresAt: Date;
  /** The end of the transition of the election, which begins at `expiresAt`; `null` if `transitionMs` is 0. */
  readonly transitionUntil: Date | null;
}

/** One candidate of an election as it is stored. */
export interface CandidateInfo {
  /** The name of the candidate. */
  readonly candidateId: string;
  /** `host:pid:random` of the candidate's provider. */
  readonly processId: string;
  /** The text that the candidate publishes while it leads. */
  readonly value: string;
  /** For the leader, when its term began; for a standby, when it was queued. By the server's clock. */
  readonly since: Date;
  /** Whether the candidate leads, or led last and the transition of the election goes on. */
  readonly isLeader: boolean;
}

export interface LeaderRead {
  readonly name: string;
  readonly leader: LeaderInfo | null;
  /**
   * The time, in ms, until the leader's lease and the transition of the election end, if nothing extends the lease.
   * `Infinity` if there is no leader.
   */
  readonly leftMs: number;
}

const PROJECTION: Fields = { now: NOW, kind: 1, holder: 1, ...wellFormedProjection(electionRules) };

/** Resolves with the error if the read fails. A name without a well-formed document of an election has no leader. */
export async function readLeaders(
  collection: LockCollection,
  names: readonly string[],
): Promise<readonly LeaderRead[] | LeaseholdError> {
  const outcome = await collection.read(names, PROJECTION, 'majority');
  if (outcome.type !== 'done') return unavailable(null, true, outcome.error);
  const found = new Map(outcome.value.map((document) => [document['_id'] as unknown, document as Stored]));
  return names.map((name) => leaderIn(name, found.get(name)));
}

export async function readLeader(collection: LockCollection, name: string): Promise<LeaderInfo | null> {
  return leaderIn(name, await readElection(collection, name, PROJECTION)).leader;
}

/** Reads the candidates: the leader first, if there is one, and then the waiters in the order of the queue. */
export async function readCandidates(
  collection: LockCollection,
  name: string,
): Promise<readonly CandidateInfo[]> {
  const waiters = filter(STORED_WAITERS, isLive('$$this.v.expiresAt'));
  const projection: Fields = { ...PROJECTION, standbys: { $map: { input: waiters, in: '$$this.v' } } };
  const stored = await readElection(collection, name, projection);
  const { leader } = leaderIn(name, stored);
  const { standbys = [] } = stored ?? {};
  const first = leader === null ? [] : [{ ...leader, since: leader.electedAt }];
  return [
    ...first.map((candidate) => describeCandidate(candidate, true)),
    ...standbys.map(({ process, ...waiter }) => describeCandidate({ ...waiter, processId: process }, false)),
  ];
}

/** Resolves with `undefined` if there is no election of this name. */
async function readElection(
  collection: LockCollection,
  name: string,
  projection: Fields,
): Promise<Stored | undefined> {
  const outcome = await collection.read([name], projection, 'majority');
  if (outcome.type !== 'done') throw unavailable(name, true, outcome.error);
  const [stored] = outcome.value as readonly Stored[];
  if (stored?.kind !== electionRules.kind) return undefined;
  if (!stored.isWellFormed) throw new CorruptLockDocumentError(name);
  return stored;
}

interface Stored {
  readonly now: Date;
  readonly kind: unknown;
  readonly isWellFormed: boolean;
  readonly holder: Lease | null;
  readonly standbys?: readonly Waiter[];
}

const NOBODY = { leader: null, leftMs: Infinity };

function leaderIn(name: string, stored: Stored | undefined): LeaderRead {
  if (stored?.isWellFormed !== true || stored.holder === null) return { name, ...NOBODY };
  const { now, holder } = stored;
  const leftMs = holder.expiresAt.getTime() - now.getTime();
  return leftMs > 0 ? { name, leader: describeLeader(holder), leftMs } : { name, ...NOBODY };
}

const describeCandidate = (
  {
    candidateId = '',
    value = '',
    processId,
    since,
  }: Partial<CandidateInfo> & Pick<CandidateInfo, 'processId' | 'since'>,
  isLeader: boolean,
): CandidateInfo => ({ candidateId, processId, value, since, isLeader });

function describeLeader(lease: Lease): LeaderInfo {
  const { candidateId = '', value = '', transitionMs = 0, process, token, acquiredAt, expiresAt } = lease;
  return {
    candidateId,
    processId: process,
    value,
    token,
    electedAt: acquiredAt,
    expiresAt: new Date(expiresAt.getTime() - transitionMs),
    transitionUntil: transitionMs === 0 ? null : expiresAt,
  };
}
