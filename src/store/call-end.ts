import type { Clock, Timer } from '../clock.js';

export interface CallWatch {
  /** The error for a call without an answer. */
  unanswered(): Error;
  /** Calls back once, when another primary replaces the present one. The returned function unsubscribes. */
  onFollowed(callback: (error: Error) => void): () => void;
  /** Called once, when the command has ended or is given up. */
  ended(): void;
}

/**
 * Decides when one call ends: for its caller, and for the driver.
 *
 * - The caller waits for `boundMs`, counted from the call.
 * - The driver waits as long for an answer, but counted from the sending. If a command is given up after it was sent, the
 *   driver closes its connection. The driver opens few connections at a time, and on a slow store or network each of them
 *   takes as long as several commands. If a command that got its connection late were given up with its caller, each new
 *   connection would be closed after one command, and after a loss of all connections no call would ever be answered.
 * - A command that was not sent yet is given up with its caller. So is every command if another primary replaces the
 *   present one, or if the provider is closed after its caller has gone.
 *
 * Some versions of the driver ignore the signal. Then the connection stays in use until the answer comes.
 */
export class CallEnd {
  readonly #clock: Clock;
  readonly #boundMs: number;
  readonly #watch: CallWatch;
  readonly #driver = new AbortController();
  readonly #unwatch: () => void;
  #reject!: (error: Error) => void;
  #sentAtMs = -Infinity;
  #timer: Timer | undefined;
  #isClosed = false;
  #isCallerGone = false;
  #hasEnded = false;
  /** Rejects when the caller waits no longer. */
  readonly unanswered: Promise<never>;

  constructor(clock: Clock, boundMs: number, watch: CallWatch) {
    this.#clock = clock;
    this.#boundMs = boundMs;
    this.#watch = watch;
    this.unanswered = new Promise<never>((_, reject) => (this.#reject = reject));
    // The call may end before any code waits for this promise.
    this.unanswered.catch(() => undefined);
    this.#timer = clock.at(clock.nowMs() + boundMs, this.#callerGone.bind(this));
    this.#unwatch = watch.onFollowed(this.#giveUp.bind(this));
  }

  /** Aborts when the driver must not wait for the answer any more. */
  get signal(): AbortSignal {
    return this.#driver.signal;
  }

  /** Called when the driver puts the command on a connection. */
  sent(): void {
    this.#sentAtMs = this.#clock.nowMs();
  }

  /** Called when the command has ended, or will never be sent. */
  ended(): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#timer?.cancel();
    this.#unwatch();
    this.#watch.ended();
  }

  /** Called when the provider is closed. A caller that still waits may wait until its time is up. */
  closed(): void {
    this.#isClosed = true;
    if (this.#isCallerGone) this.#giveUp(new Error('the provider was closed'));
  }

  #callerGone(): void {
    this.#isCallerGone = true;
    const error = this.#watch.unanswered();
    this.#reject(error);
    const endMs = this.#isClosed ? -Infinity : this.#sentAtMs + this.#boundMs;
    if (endMs <= this.#clock.nowMs()) this.#giveUp(error);
    else this.#timer = this.#clock.at(endMs, this.#giveUp.bind(this, error));
  }

  #giveUp(error: Error): void {
    this.#reject(error);
    this.ended();
    this.#driver.abort(error);
  }
}
