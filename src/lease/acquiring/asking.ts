import type { Moment } from '../../clock.js';
import {
  CorruptLockDocumentError,
  LockKindMismatchError,
  QueueFullError,
  SemaphoreLimitMismatchError,
} from '../../errors.js';
import type { LeaseDurations } from '../../options/provider-options.js';
import type { Lease, LockKind } from '../../protocol/lock-document.js';
import { fateOf, refusalOf } from '../../protocol/replies/reply.js';
import type { Place, Reply } from '../../protocol/replies/reply.js';
import type { Answer } from '../../store/updates/combiner.js';
import type { Done, Outcome } from '../../store/outcome.js';
import { isAnswered, settle } from '../../store/settle.js';
import { deadlineOf, leavesEnough } from '../deadline.js';
import type { LeaseContext } from './lease-context.js';
import type { Attempt } from './attempt.js';
import type { BegunRequest } from './begun-request.js';

/** The answer to the request of one attempt. */
export type Asked =
  | { readonly type: 'granted'; readonly token: number; readonly deadline: Moment }
  | { readonly type: 'queued'; readonly place: Place; readonly reply: Reply; readonly sentAt: Moment }
  | { readonly type: 'busy' }
  /** The document has nothing of this attempt, so the request must be sent again under a new id. */
  | { readonly type: 'lapsed' }
  | { readonly type: 'failed'; readonly error: unknown };

export interface AskingObserver {
  isWanted(): boolean;
  /** Called with each reply to the request that shows a document. */
  note(reply: Reply): void;
  /**
   * Called each time the outcome is unknown while `isWanted` returns true: the store did not answer, or its answer
   * does not tell the outcome.
   */
  trouble(error: unknown): void;
}

/**
 * Sends the request of one attempt until it is answered. A repeat of the same request settles an unknown outcome (E1).
 */
export class Asking {
  readonly #context: LeaseContext;
  readonly #begun: BegunRequest;
  readonly #attempt: Attempt;
  readonly #observer: AskingObserver;
  #takingOver = false;

  constructor(context: LeaseContext, begun: BegunRequest, attempt: Attempt, observer: AskingObserver) {
    this.#context = context;
    this.#begun = begun;
    this.#attempt = attempt;
    this.#observer = observer;
  }

  /** Resolves with `undefined` if `isWanted` of the observer returns false before there is an answer. */
  async run(): Promise<Asked | undefined> {
    const { clock } = this.#context;
    const isOver = (): boolean => !this.#observer.isWanted();
    const send = async (): Promise<Asked | Unanswered> => {
      const asked = await this.#ask();
      if (asked.type === 'unknown' && !isOver()) this.#observer.trouble(asked.error);
      return asked;
    };
    const asked = await settle(send, { clock, isSettled: isAnswered, isOver });
    return asked.type === 'unknown' ? undefined : asked;
  }

  async #ask(): Promise<Asked | Unanswered> {
    const { collection } = this.#context;
    if (!collection.isServerKnown) {
      const met = await collection.handshake();
      if (met.type !== 'done' || !this.#observer.isWanted()) return unanswered(met);
    }
    const outcome = await this.#attempt.ask(this.#takingOver);
    if (outcome.type !== 'done') return unanswered(outcome);
    const { reply } = outcome.value;
    // An enqueue or a try creates a missing document, so an answer without a document does not tell the outcome.
    if (reply === null) return { type: 'unknown', error: new Error('no document') };
    this.#observer.note(reply);
    const fate = fateOf(reply, this.#attempt.id);
    switch (fate.type) {
      case 'granted':
        return await this.#granted(fate.lease, reply, outcome);
      case 'queued':
        return { type: 'queued', place: fate.place, reply, sentAt: outcome.sentAt };
      case 'absent':
        return await this.#refused(reply);
    }
  }

  /**
   * A repeat may find a seat that the server granted to an earlier copy long ago (E7). If too little of the lease is
   * left, the process extends the lease before the caller gets the hold.
   */
  async #granted(lease: Lease, reply: Reply, { sentAt }: Done<Answer>): Promise<Asked | Unanswered> {
    const { durations } = this.#begun;
    const deadline = deadlineOf(lease, reply.nowMs, sentAt, durations);
    if (leavesEnough(deadline, this.#context.clock, durations)) {
      return { type: 'granted', token: lease.token, deadline };
    }
    const extended = await this.#attempt.extend();
    if (extended.type !== 'done') return unanswered(extended);
    const seated = seatOf(extended, this.#attempt.id, durations);
    return seated === undefined ? { type: 'lapsed' } : { type: 'granted', ...seated };
  }

  async #refused(reply: Reply): Promise<Asked | Unanswered> {
    const { name, rules } = this.#begun;
    const { type } = this.#attempt;
    switch (refusalOf(reply, rules, type, this.#attempt.request)) {
      case 'busy':
        return { type: 'busy' };
      case 'late':
        return { type: 'lapsed' };
      case 'full':
        return failed(new QueueFullError(name, this.#attempt.request.maxMembers));
      case 'other-limit':
        return failed(this.#otherLimit(reply));
      case 'corrupt':
        return failed(new CorruptLockDocumentError(name));
      case 'other-kind':
        return await this.#takeOverKind(reply.kind);
      case 'unexplained':
        return { type: type === 'try' ? 'busy' : 'lapsed' };
    }
  }

  #otherLimit({ limit = 0 }: Reply): SemaphoreLimitMismatchError {
    const { name } = this.#begun;
    const { permits = 1, limit: expected = 0 } = this.#attempt.request;
    return permits > limit
      ? new SemaphoreLimitMismatchError(name, permits, limit, 'permits')
      : new SemaphoreLimitMismatchError(name, expected, limit, 'limit');
  }

  async #takeOverKind(kind: LockKind): Promise<Asked | Unanswered> {
    if (this.#takingOver)
      return failed(new LockKindMismatchError(this.#begun.name, this.#begun.rules.kind, kind));
    this.#takingOver = true;
    return await this.#ask();
  }
}

interface Unanswered {
  readonly type: 'unknown';
  readonly error: unknown;
}

const failed = (error: unknown): Asked => ({ type: 'failed', error });

const unanswered = (outcome: Outcome<unknown>): Asked | Unanswered => {
  if (outcome.type === 'done') return { type: 'unknown', error: undefined };
  return outcome.type === 'refused' ? failed(outcome.error) : { type: 'unknown', error: outcome.error };
};

/** Returns the seat that the answer shows under this attempt id, or `undefined` if the answer shows none. */
export function seatOf(
  { value: { reply }, sentAt }: Done<Answer>,
  id: string,
  durations: LeaseDurations,
): { readonly token: number; readonly deadline: Moment } | undefined {
  const fate = reply === null ? undefined : fateOf(reply, id);
  if (reply === null || fate?.type !== 'granted') return undefined;
  return { token: fate.lease.token, deadline: deadlineOf(fate.lease, reply.nowMs, sentAt, durations) };
}
