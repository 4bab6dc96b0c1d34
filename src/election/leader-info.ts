import { StoreUnavailableError, CorruptLockDocumentError } from '../errors.js';
import { electionSeats } from '../protocol/election-seats.js';
import { NOW } from '../protocol/expressions.js';
import type { Fields } from '../protocol/expressions.js';
import { legalProjection } from '../protocol/extension.js';
import type { Lease } from '../protocol/lock-document.js';
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
  const outcome = await collection.read([name], PROJECTION, 'majority');
  if (outcome.type !== 'done') throw new StoreUnavailableError(name, true, outcome.error);
  const [stored] = outcome.value as readonly Stored[];
  if (stored?.kind === electionSeats.kind && !stored.legal) throw new CorruptLockDocumentError(name);
  return leaderIn(name, stored).leader;
}

interface Stored {
  readonly now: Date;
  readonly kind: unknown;
  readonly legal: boolean;
  readonly holder: Lease | null;
}

const NOBODY = { leader: null, leftMs: Infinity };

function leaderIn(name: string, stored: Stored | undefined): LeaderRead {
  if (stored?.legal !== true || stored.holder === null) return { name, ...NOBODY };
  const { now, holder } = stored;
  const leftMs = holder.expiresAt.getTime() - now.getTime();
  return leftMs > 0 ? { name, leader: describeLeader(holder), leftMs } : { name, ...NOBODY };
}

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
