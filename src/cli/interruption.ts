import { codeOfSignal, CommandFailure } from './exit-codes.js';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2', 'SIGPIPE'] as const;

/** The signals that ask this process to end. */
const ENDING: readonly NodeJS.Signals[] = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGPIPE'];

let hasCome = false;

/** Whether a signal has ended what this process does, or has asked it to end. */
export const hasSignalCome = (): boolean => hasCome;

type CaughtSignal = (typeof SIGNALS)[number];

export class Interrupted extends CommandFailure {
  readonly signalName: CaughtSignal;

  constructor(signalName: CaughtSignal) {
    super(codeOfSignal(signalName), `ended by ${signalName}`);
    this.signalName = signalName;
  }
}

/**
 * Catches the signals in `SIGNALS` until its disposal. A caught signal aborts `signal`, unless `divert` was called
 * before.
 */
export class Interruption implements Disposable {
  readonly #controller = new AbortController();
  readonly #ending = new AbortController();
  #divertedTo: ((signalName: CaughtSignal) => void) | undefined;

  constructor() {
    for (const name of SIGNALS) process.on(name, this.#caught);
  }

  /** Aborts with an {@link Interrupted}. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Aborts when this process gets the first signal that asks it to end, even if signals are diverted. */
  get ending(): AbortSignal {
    return this.#ending.signal;
  }

  /** From now on, signals go to the function and do not abort `signal`. */
  divert(to: (signalName: CaughtSignal) => void): void {
    this.#divertedTo = to;
  }

  [Symbol.dispose](): void {
    for (const name of SIGNALS) process.off(name, this.#caught);
  }

  readonly #caught = (name: NodeJS.Signals): void => {
    hasCome ||= ENDING.includes(name) || this.#divertedTo === undefined;
    if (ENDING.includes(name)) this.#ending.abort();
    if (this.#divertedTo !== undefined) this.#divertedTo(name as CaughtSignal);
    else this.#controller.abort(new Interrupted(name as CaughtSignal));
  };
}
