import { codeOfSignal, CommandFailure } from './exit-codes.js';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2', 'SIGPIPE'] as const;

/** Those that ask this process to end. */
const ENDING: readonly NodeJS.Signals[] = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGPIPE'];

type CaughtSignal = (typeof SIGNALS)[number];

export class Interrupted extends CommandFailure {
  readonly signalName: CaughtSignal;

  constructor(signalName: CaughtSignal) {
    super(codeOfSignal(signalName), `ended by ${signalName}`);
    this.signalName = signalName;
  }
}

/** A promise that rejects with the reason of the signal as soon as that has aborted. */
export function rejectedBy(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const onAbort = (): void => {
      reject(signal.reason as Error);
    };
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort);
  });
}

/**
 * Catches the signals of this process while a command waits or holds a lock. A signal aborts `signal`, unless it is
 * diverted to a child.
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

  /** Aborts at the first signal that asks this process to end, also if the signal is diverted. */
  get ending(): AbortSignal {
    return this.#ending.signal;
  }

  /** From now on, signals go to the function and abort nothing. */
  divert(to: (signalName: CaughtSignal) => void): void {
    this.#divertedTo = to;
  }

  [Symbol.dispose](): void {
    for (const name of SIGNALS) process.off(name, this.#caught);
  }

  readonly #caught = (name: NodeJS.Signals): void => {
    if (ENDING.includes(name)) this.#ending.abort();
    if (this.#divertedTo !== undefined) this.#divertedTo(name as CaughtSignal);
    else this.#controller.abort(new Interrupted(name as CaughtSignal));
  };
}
