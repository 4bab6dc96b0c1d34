import { BETWEEN_REPEATS } from '../backoff.js';
import type { Backoff } from '../backoff.js';
import type { Clock } from '../clock.js';

/** When the outcome of an operation is known, and when the operation is given up. */
export interface Settling<A> {
  readonly clock: Clock;
  /** Whether the answer tells the outcome. A refusal does: nothing was changed, and a repeat is of no use. */
  readonly isSettled: (answer: A) => boolean;
  /** Whether the outcome is of no use any more. Asked before each pause and after it. */
  readonly isOver?: (() => boolean) | undefined;
  /** Aborts when the outcome is of no use any more. Also ends the pause. */
  readonly signal?: AbortSignal | undefined;
  /** No pause begins after this instant, so the last repeat is sent at most one pause later. */
  readonly untilMs?: number | undefined;
  readonly backoff?: Backoff | undefined;
}

/**
 * Sends copies of one operation until its outcome is known: if the reply is lost, the process does not know whether the
 * server has applied the operation (E1).
 *
 * A repeat is safe because every copy names the same id (of an attempt, a claim, a call or a change of mode) or the
 * same token to reach. The server applies the first copy that arrives. Each later copy finds the effect of the first
 * one in the document and changes nothing, and its reply shows that effect. So the answer to any copy is the answer to
 * all of them. A resize names no id: two copies have the effect of one, because both set the same limit. A request and
 * a resize also name a not-after. So a copy that is still on its way when the process gives up has no effect later
 * (E2).
 *
 * The repeats end with an answer or a refusal, at `untilMs`, or when the outcome is of no use any more.
 *
 * @param send - Sends one copy.
 * @returns The last answer. It does not tell the outcome if the operation was given up.
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
 * The error of a request that reached the server after its not-after. The request did nothing, and no copy of it will
 * do anything, so the process may make a new one.
 */
export const reachedTooLate = (): Error => new Error('the request reached the server too late');

/** Whether the call was done or refused, so that a repeat is of no use. (`isKnown` asks what the call changed.) */
export const isAnswered = ({ type }: { readonly type: string }): boolean => type !== 'unknown';
