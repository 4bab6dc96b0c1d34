import { MAX_JOBS } from '../../src/protocol/job-claims.js';
import type { ClaimOutcome, StoredClaim } from '../../src/protocol/job-claims.js';
import type { Lease } from '../../src/protocol/lock-document.js';
import type { Claim, HandOver } from '../../src/protocol/operation.js';
import type { DraftedDocument } from './model-draft.js';
import { mutexModel } from './mutex-model.js';
import type { ModelKind, Queued } from './reference-model.js';

/** One seat, whose last candidate alone may enter it again while its lease is in the transition. */
export const electionModel: ModelKind = {
  ...mutexModel,
  kind: 'election',
  demanded: ({ candidateId = '', value = '', transitionMs = 0 }) => ({ candidateId, value, transitionMs }),
  promote(draft) {
    const [leader] = draft.leases;
    if (leader === undefined || !isSilent(leader, draft.nowMs)) return;
    const heir = standingAs(draft, leader.candidateId);
    if (heir !== undefined) makeRoomFor(draft, heir);
  },
  own(draft, operation) {
    if (operation.type === 'handOver') handOver(draft, operation);
    if (operation.type === 'claim') claim(draft, operation);
  },
};

/** Its term is over, and nobody has asked it to go. */
const isSilent = ({ expiresAt, transitionMs = 0, ending }: Lease, nowMs: number): boolean =>
  expiresAt.getTime() - transitionMs <= nowMs && ending !== true;

const standingAs = ({ queue }: DraftedDocument, candidateId: string | undefined): Queued | undefined =>
  queue.find(({ waiter }) => waiter.candidateId === candidateId);

/** It is the first in line, and nobody leads. */
function makeRoomFor(draft: DraftedDocument, next: Queued): void {
  draft.leases = [];
  draft.queue = [next, ...draft.queue.filter((queued) => queued !== next)];
}

function handOver(draft: DraftedDocument, { id, candidateId }: HandOver): void {
  const term = draft.lease(id);
  const next = term === undefined ? undefined : standingAs(draft, candidateId);
  draft.wake.push(`-${id}:${next === undefined ? 0 : (term?.token ?? 0)}`);
  if (next !== undefined) makeRoomFor(draft, next);
}

/** An instant of a job is claimed once, in its turn and at its time, by a term that goes on. */
function claim(draft: DraftedDocument, operation: Claim): void {
  const { job, instant, claimId, nonce } = operation;
  const claims = draft.claims ?? [];
  const last = claims.find((each) => each.job === job);
  const outcome = outcomeOf(draft, operation, last);
  draft.wake.push(`+${nonce}:${outcome}`);
  if (outcome !== 'claimed') return;
  const made = { job, instant, claimId, anchor: last?.anchor ?? instant };
  draft.claims = last === undefined ? [...claims, made] : claims.map((each) => (each === last ? made : each));
}

function outcomeOf(
  { leases: [leader], nowMs, claims = [] }: DraftedDocument,
  { id, instant, after, claimId }: Claim,
  last: StoredClaim | undefined,
): ClaimOutcome {
  if (last?.claimId === claimId) return 'claimed';
  if (leader?.id !== id || leader.ending === true || isSilent(leader, nowMs)) return 'deposed';
  if (last?.instant.getTime() !== after?.getTime()) return 'outdated';
  if (last !== undefined && last.instant >= instant) return 'outdated';
  if (instant.getTime() > nowMs) return 'early';
  return last === undefined && claims.length >= MAX_JOBS ? 'full' : 'claimed';
}
