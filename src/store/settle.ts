import { BETWEEN_REPEATS } from '../backoff.js';
import type { Backoff } from '../backoff.js';
import type { Clock } from '../clock.js';

/** When the outcome of an operation is known, and when the operation is given up. */
export interface Settling<A> {
  readonly clock: Clock;
  /** Whether the answer tells the outcome. If it does, no repeat follows. */
  readonly isSettled: (answer: A) => boolean;
  /** Whether the outcome is of no use any more. Called before each pause and after it. */
  readonly isOver?: (() => boolean) | undefined;
  /** Aborts when the outcome is of no use any more. This also ends a pause between two copies. */
  readonly signal?: AbortSignal | undefined;
  /** No pause begins after this instant, so the last repeat is sent at most one pause later. */
  readonly untilMs?: number | undefined;
  readonly backoff?: Backoff | undefined;
}

/**
 * Sends copies of one operation until its outcome is known. If a reply is lost, the process does not know whether the
 * server has applied the operation (E1).
 *
 * The server applies the first copy that arrives. Why a later copy is safe:
 *
 * - A request, a leave, a claim, a call and a change of mode have an id or a number, the same in every copy. While the
 *   document shows the effect of one copy, another copy has no effect.
 * - Raising the fence: every copy raises it to the same token.
 * - A resize: every copy sets the same limit. It has no id, so a resize of another caller must not come between two.
 * - An extension: each copy gives the lease its full length again, which is right at any time.
 *
 * A copy may still be on its way when the process gives up (E2). So a request and a resize have a not-after, after
 * which a copy has no effect.
 *
 * @param send - Sends one copy.
 * @returns The last answer. If the operation was given up, this answer does not tell the outcome.
 */
export async function settle<A>(send: () => Promise<A>, settling: Settling<A>): Promise<A> {
  const { clock, isSettled, isOver, signal, untilMs = Infinity, backoff = BETWEEN_REPEATS } = settling;
  const isGivenUp = (): boolean => signal?.aborted === true || isOver?.() === true;
  for (let repeats = 0; ; repeats += 1) {
    const answer = await send();
    if (isSettled(answer) || isGivenUp() || clock.nowMs() >= untilMs) return answer;
    await backoff.pause(clock, repeats, signal);
    if (isGivenUp()) return answer;
  }
}

/**
 * The error of a resize that reached the server after its not-after, or of a call that reached the server after its
 * `until`. This copy changed nothing, and no later copy with the same time changes anything. So the process may send
 * the operation again with a later time.
 */
export const reachedTooLate = (): Error => new Error('the request reached the server too late');

/** Whether the call was done or refused, so that a repeat is of no use. */
export const isAnswered = ({ type }: { readonly type: string }): boolean => type !== 'unknown';
