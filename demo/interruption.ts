import { constants } from 'node:os';

/** The demo was told to end before its time. */
export class Interrupted extends Error {
  readonly exitCode: number;

  constructor(by: string, signalNumber: number) {
    super(`ended by ${by}`);
    this.exitCode = 128 + signalNumber;
  }
}

/** Whoever may tell a process on a terminal to end: signals, and the end of the process that started it. */
export class Interruption {
  /** Rejects with {@link Interrupted}. */
  readonly happened: Promise<never>;

  constructor() {
    this.happened = new Promise((_, reject) => {
      for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
        process.on(signal, () => {
          reject(new Interrupted(signal, constants.signals[signal]));
        });
      }
      process.on('disconnect', () => {
        reject(new Interrupted('the end of its parent', constants.signals.SIGTERM));
      });
    });
    this.happened.catch(() => undefined);
  }
}
