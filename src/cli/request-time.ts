import { textOf } from '../error-text.js';
import { AcquireTimeoutError } from '../index.js';
import type { StoreErrorEvent, WaitingEvent } from '../index.js';
import type { Session } from './connection.js';
import { CommandFailure, EXIT, exitCodeOf } from './exit-codes.js';
import { stateLine } from './lock-text.js';
import { orAborted } from './or-aborted.js';
import { TimeLimit } from './time-limit.js';
import { shownDuration } from './values.js';

/** The least time for the first answer to a request, in ms, even if connecting took all the time of the user. */
const LEAST_ANSWER_MS = 1_000;

/**
 * How long after its start a command that has no time of its own waits for the first answer, in ms. With the connection
 * before and the end after it, a command on a server that answers nothing ends within 20 s.
 */
const SILENCE_MS = 12_000;

/** How long the end may take after a request that the store answered by failures only, in ms. */
const FAILED_END_MS = 3_000;

/** How long the state of the lock may take that the message of a timeout has, in ms. */
const LOOK_MS = 1_000;

class TimeUp extends CommandFailure {}

/**
 * The time of one request for a lock or for a term. If the user gave none, only the wait behind a holder is without a
 * bound: a store that never answers the request ends it.
 */
export class RequestTime implements Disposable {
  /** How long the request may wait, in ms; `undefined`: without a bound. */
  readonly requestMs: number | undefined;
  readonly #session: Session;
  readonly #name: string;
  readonly #timeoutMs: number | undefined;
  readonly #passedMs: number;
  readonly #over = new AbortController();
  readonly #timer: NodeJS.Timeout | undefined;
  #isAnswered = false;
  #isLate = false;
  /** The last failure of a command to the store. */
  #failure: unknown;

  /**
   * @param startedMs - When the command began to connect.
   * @param timeoutMs - The time that the user gave, from `startedMs` on; 0: the request does not wait.
   */
  constructor(session: Session, name: string, startedMs: number, timeoutMs?: number) {
    this.#session = session;
    this.#name = name;
    this.#timeoutMs = timeoutMs;
    this.#passedMs = performance.now() - startedMs;
    const leftMs = Math.max(0, (timeoutMs ?? SILENCE_MS) - this.#passedMs);
    const answerMs = Math.max(LEAST_ANSWER_MS, leftMs);
    session.locks.on('waiting', this.#queued).on('storeError', this.#failed);
    if (timeoutMs === undefined) {
      this.#timer = setTimeout(this.#silent, answerMs);
    } else if (timeoutMs > 0) {
      this.requestMs = answerMs;
      // If more time is left than an answer needs at least, the request itself ends in time.
      if (answerMs > leftMs) this.#timer = setTimeout(this.#late, leftMs);
    } else {
      this.requestMs = 0;
    }
  }

  /** Aborts with a {@link CommandFailure} when the request has to end before `requestMs` is over. */
  get over(): AbortSignal {
    return this.#over.signal;
  }

  /** The store has answered the request. */
  answered(): void {
    this.#isAnswered = true;
    if (this.#timeoutMs === undefined) clearTimeout(this.#timer);
    if (this.#isLate) this.#end();
  }

  /** Returns the error with the time of the user and, if the store knows it, with the state of the lock. */
  async explained(error: unknown): Promise<unknown> {
    if (error instanceof TimeUp)
      return new CommandFailure(EXIT.busy, `${error.message}${await this.#state()}`);
    if (!(error instanceof AcquireTimeoutError) || !this.#timeoutMs) return error;
    const [given, passed] = [shownDuration(this.#timeoutMs), shownDuration(this.#passedMs)];
    const message = `${error.message} (of the ${given} of --timeout, connecting took ${passed})`;
    return new CommandFailure(exitCodeOf(error), message, { cause: error });
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
    this.#session.locks.off('waiting', this.#queued).off('storeError', this.#failed);
  }

  readonly #queued = ({ lockName }: WaitingEvent): void => {
    if (lockName === this.#name) this.answered();
  };

  readonly #failed = ({ during, error }: StoreErrorEvent): void => {
    // Without a change stream, a request is granted all the same.
    if (during !== 'stream') this.#failure = error;
  };

  readonly #silent = (): void => {
    const { ending, locks } = this.#session;
    // Without any answer, no copy of the request is known to have arrived. After an answer, one may have taken a place.
    if (locks.health().answeredMsAgo === null) ending.giveUp();
    else ending.atMost(FAILED_END_MS);
    const waited = shownDuration(SILENCE_MS);
    const what = `Lock ${JSON.stringify(this.#name)} was not granted: the store accepted the connection`;
    const cause = this.#failure;
    const message =
      cause === undefined
        ? `${what}, and gave no answer within ${waited}; find out what keeps it from answering`
        : `${what}, and did not carry out the request within ${waited}; its last failure: ${textOf(cause)}`;
    this.#over.abort(new CommandFailure(EXIT.unavailable, message, { cause }));
  };

  readonly #late = (): void => {
    this.#isLate = true;
    if (this.#isAnswered) this.#end();
  };

  #end(): void {
    const given = shownDuration(this.#timeoutMs ?? 0);
    const message = `Lock ${JSON.stringify(this.#name)} was not granted within ${given}`;
    this.#over.abort(new TimeUp(EXIT.busy, message));
  }

  async #state(): Promise<string> {
    const { locks } = this.#session;
    using limit = new TimeLimit(LOOK_MS);
    const snapshot = await orAborted(locks.inspect(this.#name), limit.signal).catch(() => null);
    return snapshot === null ? '' : `; ${stateLine(snapshot)}`;
  }
}
