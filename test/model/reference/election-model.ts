import { MAX_JOBS } from '../../../src/protocol/lock-document.js';
import type { StoredCall } from '../../../src/protocol/jobs/job-calls.js';
import type { ClaimOutcome, OutcomeWithoutTerm, StoredClaim } from '../../../src/protocol/jobs/job-claims.js';
import type { Lease } from '../../../src/protocol/lock-document.js';
import type { Call, Claim, ClaimWithoutTerm, Conclude, HandOver } from '../../../src/protocol/operation.js';
import type { DraftedDocument } from './model-draft.js';
import { mutexModel } from './mutex-model.js';
import type { ModelKind } from './model-kind.js';
import type { Queued } from './model-document.js';

/** One seat. During the transition of its lease, only the same candidate may enter it. */
export const electionModel: ModelKind = {
  ...mutexModel,
  kind: 'election',
  demanded: ({ candidateId = '', value = '', transitionMs = 0 }) => ({ candidateId, value, transitionMs }),
  addedMs: ({ transitionMs = 0 }) => transitionMs,
  promote(draft) {
    const [leader] = draft.leases;
    if (leader === undefined || !isSilent(leader, draft.nowMs)) return;
    const heir = standingAs(draft, leader.candidateId);
    if (heir !== undefined) makeRoomFor(draft, heir);
  },
  own(draft, operation) {
    if (operation.type === 'handOver') handOver(draft, operation);
    if (operation.type === 'claim') claim(draft, operation);
    if (operation.type === 'claimWithoutTerm') claimWithoutTerm(draft, operation);
    if (operation.type === 'conclude') conclude(draft, operation);
    if (operation.type === 'call') call(draft, operation);
  },
};

/** The term is over, and it was not revoked. */
const isSilent = ({ expiresAt, transitionMs = 0, ending }: Lease, nowMs: number): boolean =>
  expiresAt.getTime() - transitionMs <= nowMs && ending !== true;

const standingAs = ({ queue }: DraftedDocument, candidateId: string | undefined): Queued | undefined =>
  queue.find(({ waiter }) => waiter.candidateId === candidateId);

/** Empties the seat, and makes this waiter the head of the queue. */
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

/** An instant of a job is claimed once, in its turn and at its time, by a live term. */
function claim(draft: DraftedDocument, operation: Claim): void {
  const { job, instant, claimId, anchor = instant, runs, nonce } = operation;
  const claims = draft.claims ?? [];
  const last = claims.find((each) => each.job === job);
  const outcome = outcomeOf(draft, operation, last);
  draft.wake.push(`+${nonce}:${outcome}`);
  // A repeated claim is answered, and changes nothing.
  if (outcome !== 'claimed' || last?.claimId === claimId) return;
  const [leader] = draft.leases;
  const { id: term = '', process = '', candidateId = '' }: Partial<Lease> = leader ?? {};
  const run = { instant, startedAt: new Date(draft.nowMs), term, process, candidateId };
  const made = {
    ...last,
    ...{ job, instant, claimId, anchor: last?.anchor ?? anchor },
    ...(runs === true ? { run } : {}),
  };
  if (operation.call !== undefined) {
    const { call: claimed } = operation;
    draft.calls = draft.calls?.map((each) => (each.job === job ? { ...each, claimed } : each));
  }
  draft.claims = last === undefined ? [...claims, made] : claims.map((each) => (each === last ? made : each));
}

function outcomeOf(
  { leases: [leader], nowMs, claims = [], calls = [] }: DraftedDocument,
  { id, token, job, instant, after, claimId, call: answers }: Claim,
  last: StoredClaim | undefined,
): ClaimOutcome {
  if (last?.claimId === claimId) return 'claimed';
  if (last?.instant.getTime() !== after?.getTime()) return 'outdated';
  if (last !== undefined && last.instant >= instant) return 'outdated';
  if (leader?.id !== id || leader.token !== token) return 'deposed';
  if (leader.ending === true || isSilent(leader, nowMs)) return 'deposed';
  if (instant.getTime() > nowMs) return 'early';
  const called = calls.find((each) => each.job === job);
  if (answers !== undefined && !(called?.asked === answers && isPending(called, nowMs))) return 'uncalled';
  return last === undefined && claims.length >= MAX_JOBS ? 'full' : 'claimed';
}

/** Of all claims of an instant the first one counts, whoever leads. */
function claimWithoutTerm(draft: DraftedDocument, operation: ClaimWithoutTerm): void {
  const { job, instant, claimId, process, nonce } = operation;
  const claims = draft.claims ?? [];
  const last = claims.find((each) => each.job === job);
  const outcome = outcomeWithoutTermOf(draft, operation, last);
  draft.wake.push(`+${nonce}:${outcome}`);
  if (outcome !== 'claimed' || last?.claimId === claimId) return;
  const startedAt = new Date(draft.nowMs);
  const run = { instant, startedAt, term: claimId, process, candidateId: process };
  const made = { ...last, job, instant, claimId, anchor: last?.anchor ?? instant, run };
  draft.claims = last === undefined ? [...claims, made] : claims.map((each) => (each === last ? made : each));
}

function outcomeWithoutTermOf(
  { nowMs, claims = [] }: DraftedDocument,
  { instant, claimId }: ClaimWithoutTerm,
  last: StoredClaim | undefined,
): OutcomeWithoutTerm {
  if (last?.claimId === claimId) return 'claimed';
  if (last?.instant.getTime() === instant.getTime()) return 'taken';
  if (last !== undefined && last.instant > instant) return 'outdated';
  if (instant.getTime() > nowMs) return 'early';
  return last === undefined && claims.length >= MAX_JOBS ? 'full' : 'claimed';
}

const isPending = ({ asked, claimed, until }: StoredCall, nowMs: number): boolean =>
  asked > claimed && until.getTime() > nowMs;

/** Stores the outcome of a run, once, and only of the last run. */
function conclude(draft: DraftedDocument, { id, job, instant, outcome, nonce }: Conclude): void {
  draft.wake.push(`+${nonce}:concluded`);
  draft.claims = draft.claims?.map((each) => {
    const { run } = each;
    const isIt = each.job === job && run?.instant.getTime() === instant.getTime() && run.term === id;
    if (!isIt || run.outcome !== undefined) return each;
    return { ...each, run: { ...run, outcome, endedAt: new Date(draft.nowMs) } };
  });
}

/** At most one call waits for a run. Calling again makes it wait for longer. A late call has no effect. */
function call(draft: DraftedDocument, { job, since, until, nonce }: Call): void {
  const calls = draft.calls ?? [];
  const last = calls.find((each) => each.job === job);
  const { asked = 0, claimed = 0 } = last ?? {};
  const isWaiting = last !== undefined && isPending(last, draft.nowMs);
  const isFull = last === undefined && calls.length >= MAX_JOBS;
  const isLate = asked === since && draft.nowMs >= until.getTime();
  const isNew = !isWaiting && !isFull && !isLate && asked === since;
  const number = isNew ? asked + 1 : asked;
  if (since !== null && ((isWaiting && !isLate) || isNew)) {
    const latest = new Date(Math.max(last?.until.getTime() ?? 0, until.getTime()));
    const made = { job, asked: number, claimed, until: latest };
    draft.calls = last === undefined ? [...calls, made] : calls.map((each) => (each === last ? made : each));
    draft.tell(draft.leases.map((lease) => lease.id));
    draft.leases = draft.leases.map((lease) => ({ ...lease, called: nonce }));
  }
  const numbers = isLate ? 'late' : `${number}/${claimed}`;
  draft.wake.push(`+${nonce}:${since !== null && isFull ? 'full' : numbers}`);
}
