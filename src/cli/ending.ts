import { codeOfSignal } from './exit-codes.js';
import type { Interruption } from './interruption.js';
import type { Output } from './output.js';
import { shownDuration } from './values.js';

/**
 * The longest time for giving back what is held, and then for closing, in ms, if a signal has come. A lease ends what is
 * not given back.
 */
const END_MS = 5_000;

/** As `END_MS`, if nothing is held, or if the server has never answered. */
const SILENT_END_MS = 1_000;

/**
 * As `END_MS`, for what a command holds, if no signal has come: nobody waits for the end of this process. An election of
 * the primary takes 10 to 12 s after the failure of a member.
 */
export const ELECTION_END_MS = 13_000;

/** How much of the time is kept for closing the provider and then the client, in ms. */
const CLOSING_MS = 1_000;

/** How long the process may live after the end, in ms: see `LINGER_MS` in main.ts. */
const EXIT_MS = 1_000;

/**
 * How long the end may take before `leasehold` says what it waits for, in ms, if a signal has come. A second signal
 * before that has no effect, because npm repeats the signal of the terminal.
 */
const PATIENCE_MS = 1_000;

/** The signals by which a person or a supervisor asks for the end once more. A broken pipe may be reported many times. */
const IMPATIENT: readonly NodeJS.Signals[] = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'];

interface Held {
  readonly what: string;
  readonly leaseMs: number;
  /** How long the end may take if no signal comes, in ms. */
  readonly unhurriedMs: number;
}

/**
 * The end of a session. All its steps together have one bound, and a signal shortens it. If a signal has come and the
 * end takes long, the user is told what it waits for. From then on, a further signal ends the process at once.
 */
export class Ending implements Disposable {
  readonly #output: Output;
  readonly #interruption: Interruption | undefined;
  #held: Held | undefined;
  #hasBegun = false;
  #mostMs = Infinity;
  /** When the end has to be over; of `performance.now()`. */
  #overMs = Infinity;
  #isSilent = false;
  #isTold = false;
  #isConfirmed = false;
  /** Set when a signal has come, so that somebody waits for the end. */
  #telling: NodeJS.Timeout | undefined;
  /** Set the timers of the steps again. */
  readonly #retimed = new Set<() => void>();

  constructor(output: Output, interruption: Interruption | undefined) {
    this.#output = output;
    this.#interruption = interruption;
  }

  /**
   * Called when the process has something in the store that has to be given back.
   *
   * @param what - Its name in messages.
   * @param leaseMs - The length of the lease that ends it otherwise.
   * @param unhurriedMs - How long the end may take if no signal comes, in ms.
   */
  holds(what: string, leaseMs: number, unhurriedMs: number = END_MS): void {
    this.#held = { what, leaseMs, unhurriedMs };
  }

  /** Called when nothing has to be given back any more. */
  holdsNothing(): void {
    this.#held = undefined;
  }

  /** Called when a hold was released. @param isConfirmed - Whether the store has confirmed it. */
  released(isConfirmed: boolean): void {
    this.#isConfirmed = isConfirmed;
  }

  /** Called before the end, when the server has answered no command: the end does not wait for it. */
  giveUp(): void {
    this.#isSilent = true;
  }

  /** Called before the end, which may then take no longer than this. */
  atMost(ms: number): void {
    this.#mostMs = ms;
  }

  /** Begins the end, if it has not begun. From then on, no signal goes to a command. */
  begin(): void {
    if (this.#hasBegun) return;
    this.#hasBegun = true;
    const boundMs = this.#isSilent ? SILENT_END_MS : (this.#held?.unhurriedMs ?? SILENT_END_MS);
    this.#overMs = performance.now() + Math.min(boundMs, this.#mostMs);
    this.#interruption?.divert(this.#signalled);
    if (this.#interruption?.ending.aborted === true) this.#hurry();
  }

  /**
   * Begins the end, and waits until what is held is given back. Says so if that takes too long. If the store has not
   * confirmed it by then, the provider goes on in the background, and `closed` says what came of it.
   *
   * @returns What the promise resolves with; `undefined` if it has not resolved in time.
   */
  async givenBack<T>(giving: Promise<T>): Promise<T | undefined> {
    this.begin();
    const given = await this.within(giving, CLOSING_MS);
    const isOver = given !== undefined && 'value' in given;
    if (!isOver) this.#sayWhatMayLast();
    if (!isOver || this.#isConfirmed || given.value === false) this.holdsNothing();
    return given?.value;
  }

  /** Called when the provider is closed, or its time is up. @param isEmpty - Whether it has given everything back. */
  closed(isEmpty: boolean): void {
    if (!isEmpty) this.#sayWhatMayLast();
    this.holdsNothing();
  }

  /** How long a step may take that ends `reserveMs` before the end of all steps, in ms. */
  leftMs(reserveMs: number): number {
    return Math.max(0, this.#overMs - reserveMs - performance.now());
  }

  /** Waits for a step of the end. The process exits afterwards, so a failure is ignored. */
  async within<T>(step: Promise<T>, reserveMs: number): Promise<{ readonly value?: T } | undefined> {
    let timer: NodeJS.Timeout | undefined;
    let retime = (): void => undefined;
    const over = new Promise<undefined>((resolve) => {
      retime = () => {
        clearTimeout(timer);
        timer = setTimeout(resolve, this.leftMs(reserveMs), undefined);
      };
    });
    retime();
    this.#retimed.add(retime);
    const settled = step.then(
      (value) => ({ value }),
      () => ({}),
    );
    const first = await Promise.race([settled, over]);
    this.#retimed.delete(retime);
    clearTimeout(timer);
    return first;
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#telling);
  }

  readonly #signalled = (signal: NodeJS.Signals): void => {
    if (!IMPATIENT.includes(signal)) return;
    if (!this.#isTold) {
      this.#hurry();
      return;
    }
    this.#sayWhatMayLast();
    process.exit(codeOfSignal(signal));
  };

  #hurry(): void {
    if (this.#telling !== undefined) return;
    const nowMs = performance.now();
    this.#overMs = Math.min(this.#overMs, nowMs + END_MS);
    for (const retime of this.#retimed) retime();
    const longestMs = Math.round(this.#overMs - nowMs) + EXIT_MS;
    this.#telling = setTimeout(() => {
      // Without anything to give back, the end is short.
      if (this.#held === undefined) return;
      this.#isTold = true;
      const atMost = `at most ${Math.ceil(longestMs / 1_000)} s`;
      this.#output.say(`giving back ${this.#held.what} takes ${atMost}; another signal ends this at once`);
    }, PATIENCE_MS);
  }

  #sayWhatMayLast(): void {
    if (this.#held === undefined || this.#isSilent) return;
    const { what, leaseMs } = this.#held;
    // The server may have applied what it has not answered.
    this.#output.say(
      `${what} may not have been given back; it ends by itself within ${shownDuration(leaseMs)}`,
    );
  }
}
