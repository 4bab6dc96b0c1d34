import { LinkedController } from '../abort-listeners.js';
import { Backoff } from '../backoff.js';
import { sleepUntil } from '../clock.js';
import type { Clock, Timer } from '../clock.js';
import type { RunScope } from '../observer.js';
import { DRAIN_MS } from '../options/admin-options.js';
import type { RunOutcome } from '../protocol/operation.js';
import type { TellJob } from './job-events.js';

/** The time, in ms, that a run has to end after `maxRunMs` has aborted its signal: the default drain of a stop. */
const HUNG_AFTER_MS = DRAIN_MS;

/** The signal of one run, and the bound of its duration. */
export class RunSignal {
  readonly #controller: LinkedController;
  #timer: Timer | undefined;

  /** @param sources - The signal of the run aborts when the first of these signals aborts. */
  constructor(sources: readonly AbortSignal[]) {
    this.#controller = new LinkedController(...sources);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /**
   * Aborts the signal when the run has taken `maxRunMs`. Calls `onHung` if the run has not ended `HUNG_AFTER_MS` later.
   */
  bound(clock: Clock, maxRunMs: number, onHung: () => void): void {
    this.#timer = clock.at(clock.nowMs() + maxRunMs, () => {
      const message = `The run has taken longer than maxRunMs = ${String(maxRunMs)}`;
      this.#controller.abort(new DOMException(message, 'TimeoutError'));
      this.#timer = clock.at(clock.nowMs() + HUNG_AFTER_MS, onHung);
    });
  }

  /** Called when the run has ended. */
  forget(): void {
    this.#timer?.cancel();
    this.#controller.unlink();
  }
}

/** Where the end of one run is reported: to observers, in the store, and to the listeners of the job. */
interface RunReaders {
  readonly observed: RunScope | undefined;
  readonly conclude: (outcome: RunOutcome) => void;
  readonly tell: TellJob;
}

/**
 * Reports the end of one run, once. A run that hangs is reported as failed while it is still running, so its later end
 * is not reported, whatever the outcome.
 */
export class RunReport {
  readonly #firedAt: Date;
  readonly #readers: RunReaders;
  #isMade = false;

  constructor(firedAt: Date, readers: RunReaders) {
    this.#firedAt = firedAt;
    this.#readers = readers;
  }

  completed(tookMs: number): void {
    if (!this.#begin('completed')) return;
    this.#readers.tell('completed', { firedAt: this.#firedAt, tookMs });
  }

  failed(error: unknown): void {
    if (!this.#begin('failed', { thrown: error })) return;
    this.#readers.tell('failed', { firedAt: this.#firedAt, error });
  }

  #begin(outcome: RunOutcome, failure?: { readonly thrown: unknown }): boolean {
    if (this.#isMade) return false;
    this.#isMade = true;
    this.#readers.observed?.ended(failure);
    this.#readers.conclude(outcome);
    return true;
  }
}

export const hungError = (maxRunMs: number): Error =>
  new Error(
    `The run has taken longer than maxRunMs = ${String(maxRunMs)}, and has not ended ${String(HUNG_AFTER_MS)} ms after its signal aborted; the leader resigns`,
  );

const BETWEEN_REPORTS = new Backoff(5_000, 600_000);

export interface OverrunWatch {
  readonly clock: Clock;
  /** When the next run is due, by the local clock. */
  readonly atMs: number;
  readonly ended: AbortSignal;
  /** Aborts when the term begins to end, or when the job is stopped. */
  readonly over: AbortSignal;
  readonly overrun: () => void;
  /**
   * Claims the instants that have been missed so far. Resolves with false if the claim was refused or its outcome is
   * unknown; `account` is then not called again.
   */
  readonly account: () => Promise<boolean>;
}

/**
 * If a run is still running when the next run is due, calls `overrun` once, and then calls `account` again and again.
 * `account` claims and reports the instants that are missed because of this run, so that a run that hangs does not go
 * unnoticed.
 */
export async function watchOverrun({
  clock,
  atMs,
  ended,
  over,
  overrun,
  account,
}: OverrunWatch): Promise<void> {
  const isOver = (): boolean => ended.aborted || over.aborted;
  await sleepUntil(clock, atMs, ended);
  if (ended.aborted) return;
  overrun();
  for (let reports = 0; ; reports += 1) {
    await sleepUntil(clock, clock.nowMs() + BETWEEN_REPORTS.longestMs(reports), ended);
    if (isOver() || !(await account())) return;
  }
}
