import { StoreUnavailableError, CorruptLockDocumentError } from '../errors.js';
import { electionSeats } from '../protocol/kinds/election-seats.js';
import { NOW, STORED_WAITERS, isLive, filter } from '../protocol/expressions.js';
import type { Fields } from '../protocol/expressions.js';
import { legalProjection } from '../protocol/pipeline/extension.js';
import type { Lease, Waiter } from '../protocol/lock-document.js';
import type { LockCollection } from '../store/lock-collection.js';

/** The leader of an election as it is stored. Times are the server's. */
export interface LeaderInfo {
  /** Which candidate leads. */
  readonly candidateId: string;
  /** `host:pid:random` of its provider. */
  readonly processId: string;
  /** What it tells everybody. */
  readonly value: string;
  /** The token of its term. */
  readonly token: number;
  /** When the term began. */
  readonly electedAt: Date;
  /** When its lease ends unless it is extended. */
  readonly expiresAt: Date;
  /** Until when only the same candidate may follow, should the lease end so; `null` without a transition. */
  readonly transitionUntil: Date | null;
}

/** One candidate of an election as it is stored. */
export interface CandidateInfo {
  /** The candidate. */
  readonly candidateId: string;
  /** `host:pid:random` of its provider. */
  readonly processId: string;
  /** What it tells everybody while it leads. */
  readonly value: string;
  /** When its term began, or when it was queued. The server's time. */
  readonly since: Date;
  /** Whether it leads. */
  readonly isLeader: boolean;
}

/** What a read tells of one election. */
export interface LeaderRead {
  readonly name: string;
  readonly leader: LeaderInfo | null;
  /** How long the seat lasts unless its lease is extended, in ms; infinite if nobody has it. */
  readonly leftMs: number;
}

const PROJECTION: Fields = { now: NOW, kind: 1, holder: 1, ...legalProjection(electionSeats) };

/** Who leads these elections. What is no legal one, or not there, has no leader. */
export async function readLeaders(
  collection: LockCollection,
  names: readonly string[],
): Promise<readonly LeaderRead[] | StoreUnavailableError> {
  const outcome = await collection.read(names, PROJECTION, 'majority');
  if (outcome.type !== 'done') return new StoreUnavailableError(null, true, outcome.error);
  const found = new Map(outcome.value.map((document) => [document['_id'] as unknown, document as Stored]));
  return names.map((name) => leaderIn(name, found.get(name)));
}

/** Who leads this one. */
export async function readLeader(collection: LockCollection, name: string): Promise<LeaderInfo | null> {
  return leaderIn(name, await readElection(collection, name, PROJECTION)).leader;
}

/** The leader, if there is one, and then those who wait, in their order. */
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

/** `undefined`: there is none of this name. */
async function readElection(
  collection: LockCollection,
  name: string,
  projection: Fields,
): Promise<Stored | undefined> {
  const outcome = await collection.read([name], projection, 'majority');
  if (outcome.type !== 'done') throw new StoreUnavailableError(name, true, outcome.error);
  const [stored] = outcome.value as readonly Stored[];
  if (stored?.kind !== electionSeats.kind) return undefined;
  if (!stored.legal) throw new CorruptLockDocumentError(name);
  return stored;
}

interface Stored {
  readonly now: Date;
  readonly kind: unknown;
  readonly legal: boolean;
  readonly holder: Lease | null;
  readonly standbys?: readonly Waiter[];
}

const NOBODY = { leader: null, leftMs: Infinity };

function leaderIn(name: string, stored: Stored | undefined): LeaderRead {
  if (stored?.legal !== true || stored.holder === null) return { name, ...NOBODY };
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
