import { within } from '../../clock.js';
import type { Clock } from '../../clock.js';
import type { LeaseDurations } from '../../options/provider-options.js';
import type { Reply } from '../../protocol/replies/reply.js';
import { CANCEL_GRACE_MS } from '../../scope.js';
import { leavesEnough } from '../deadline.js';
import type { Turn, TurnWait } from '../waiting/turn.js';
import { seatOf } from './asking.js';
import type { Attempt } from './attempt.js';
import type { StoreAnswers } from './store-answers.js';

export interface CancellingObserver {
  readonly answers: StoreAnswers;
  /** Called with the reply to the cancel, if the reply shows a document. */
  note(reply: Reply): void;
}

/**
 * Sends the cancel of one attempt whose time is up. Returns the grant that came before the cancel; `undefined` if no
 * answer within `CANCEL_GRACE_MS` shows one. If little of the lease is left, sends an extension in the rest of that
 * time (E7). Without an answer to it, the grant is returned as it is; if the answer shows no lease, `undefined`.
 */
export async function grantBeforeCancel(
  attempt: Attempt,
  clock: Clock,
  durations: LeaseDurations,
  observer: CancellingObserver,
): Promise<Turn | undefined> {
  const endMs = clock.nowMs() + CANCEL_GRACE_MS;
  const outcome = await within(clock, CANCEL_GRACE_MS, attempt.cancel());
  if (outcome?.type !== 'done') {
    if (outcome !== undefined) observer.answers.failed(outcome.error);
    return undefined;
  }
  observer.answers.answered();
  let seat = seatOf(outcome, attempt.id, durations);
  if (outcome.value.reply !== null) observer.note(outcome.value.reply);
  if (seat !== undefined && !leavesEnough(seat.deadline, clock, durations)) {
    const extended = await within(clock, endMs - clock.nowMs(), attempt.extend());
    if (extended?.type === 'done') seat = seatOf(extended, attempt.id, durations);
  }
  return seat === undefined ? undefined : { type: 'granted', ...seat };
}

/**
 * Resolves with the grant or the failure of a wait. Never resolves if the place lapses, so that the request goes on
 * waiting for the answer to its cancel.
 */
export async function grantOrFailure({ turn }: TurnWait): Promise<Turn> {
  const ended = await turn;
  return ended.type === 'lapsed' ? await new Promise<never>(() => undefined) : ended;
}
