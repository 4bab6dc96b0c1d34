import { sleepUntil, within } from '../clock.js';
import type { LeaseContext } from '../lease/acquiring/lease-context.js';
import { holdEndOf } from '../observation.js';
import { DRAIN_MS } from '../options/admin-options.js';
import type { Callbacks } from './callbacks.js';
import type { ParsedElectionOptions, WhyDeposed } from './election-options.js';
import { TermHandOver } from './hand-over.js';
import type { TermHandle } from './term-handle.js';

export interface TermListener {
  elected(term: TermHandle): void;
  /** The term begins to end. Its signal has aborted, or aborts right after this call; its work may run for a while. */
  ending(): void;
  deposed(term: TermHandle, why: WhyDeposed): void;
}

export interface TermParts {
  readonly context: LeaseContext;
  readonly options: ParsedElectionOptions;
  readonly callbacks: Callbacks;
  readonly listener: TermListener;
  /** One promise for each term whose work outlives its drain; `Elections.leftBehind` describes it. */
  readonly leftBehind: Set<Promise<unknown>>;
}

interface Ending {
  readonly why: WhyDeposed;
  readonly drainMs: number;
  /** The candidate that the seat is handed to; `undefined`: no hand-over. */
  readonly to: string | undefined;
}

/**
 * One term of a candidate. A term that is not lost ends in this order: its signal aborts; its work has `drainMs` to
 * end; `onDeposed` is called; the seat is given back. So no other candidate is elected before `onDeposed`, unless the
 * lease expires or is evicted first.
 *
 * Work that takes longer than `drainMs` keeps the seat until the work ends or the stored lease is over, the transition
 * of the election included. The lease is not extended any more after `drainMs`, so work that never ends does not keep
 * out the other candidates for ever.
 */
export class Term {
  readonly handle: TermHandle;
  readonly #parts: TermParts;
  /**
   * Resolves when the term begins to end: with the ending that was asked for, or with `undefined` if the hold has ended
   * already. The first cause decides.
   */
  readonly #ending: Promise<Ending | undefined>;
  /**
   * Resolves when the term has ended, with whether a hand-over is known to have given the seat to another candidate.
   */
  readonly #endResult: Promise<boolean>;
  /** Aborts when the `drainMs` of a later stop is over while the term is still ending, or when the term has ended. */
  readonly #hurrying = new AbortController();
  #isEnding = false;
  #hasFailed = false;
  #beginEnd!: (ending: Ending | undefined) => void;
  #resolveEndResult!: (isHanded: boolean) => void;

  constructor(parts: TermParts, handle: TermHandle) {
    this.#parts = parts;
    this.handle = handle;
    this.#endResult = new Promise((resolve) => {
      this.#resolveEndResult = resolve;
    });
    this.#ending = new Promise((resolve) => {
      this.#beginEnd = (ending) => {
        if (this.#isEnding) return;
        this.#isEnding = true;
        parts.listener.ending();
        // `end` aborts the signal of the term. If the hold was lost, the signal has aborted already, so `end` has no
        // effect.
        handle.end();
        resolve(ending);
      };
    });
  }

  /** Whether `onElected` failed and the term ends, or has ended, for that reason. */
  get hasFailed(): boolean {
    return this.#hasFailed;
  }

  /**
   * Resolves when the term has ended. Work of a lost term, or work that outlives its drain, may still be running then.
   */
  async lead(): Promise<void> {
    const { handle } = this;
    const { callbacks, listener, options } = this.#parts;
    // `listener.elected` comes first, because the term may end in either of the next two calls: in `#startObserved` if
    // an observer stops the candidate, and in `#watch` if the hold is over already.
    listener.elected(handle);
    this.#startObserved();
    this.#watch();
    callbacks.elected(handle, () => {
      if (options.onFailure === 'lead-on' || this.#isEnding) return;
      this.#hasFailed = true;
      this.#beginEnd({ why: 'resigned', drainMs: DRAIN_MS, to: undefined });
    });
    const ending = await this.#ending;
    this.#resolveEndResult(ending === undefined ? this.#deposeEnded() : await this.#finish(ending));
    this.#hurrying.abort();
  }

  /**
   * Ends the term. Resolves with whether a hand-over is known to have given the seat to another candidate. If the term
   * is ending already, waits for its end for at most `drainMs`, and resolves with false.
   */
  async end(why: WhyDeposed, drainMs: number, to?: string): Promise<boolean> {
    if (this.#isEnding) {
      await within(this.#parts.context.clock, drainMs, this.#endResult);
      return false;
    }
    this.#beginEnd({ why, drainMs, to });
    return await this.#endResult;
  }

  /** Ends the term. If the term is ending already, its work has at most `drainMs` from now on. */
  stop(drainMs: number): void {
    if (this.#isEnding) void this.#hurry(drainMs);
    else this.#beginEnd({ why: 'stopped', drainMs, to: undefined });
  }

  async #hurry(drainMs: number): Promise<void> {
    const { clock } = this.#parts.context;
    await sleepUntil(clock, clock.nowMs() + drainMs, this.#hurrying.signal);
    this.#hurrying.abort();
  }

  /**
   * Tells observers of the term. For observers, the term ends with its hold, before the release is sent: the next term
   * may begin as soon as the release reaches the server.
   */
  #startObserved(): void {
    const { context, options } = this.#parts;
    const { handle } = this;
    const { observation } = context;
    if (!observation.isOn) return;
    const { name: electionName, fencingToken } = handle;
    const observed = observation.termStarted({
      electionName,
      candidateId: options.candidateId,
      fencingToken,
    });
    handle.onEnded(() => {
      observation.termEnded(observed, holdEndOf(handle.checkEnd() ?? 'released'));
    });
  }

  #watch(): void {
    const { handle } = this;
    const { context, options } = this.#parts;
    handle.onEnded(() => {
      this.#beginEnd(undefined);
    });
    handle.releaseRequested.addEventListener('abort', () => {
      // A provider that closes stops its elections itself. Otherwise the lease was revoked and is not extended any
      // more, so the work gets at most `leaseMs` to finish.
      if (context.closing.aborted) return;
      this.#beginEnd({ why: 'resigned', drainMs: options.durations.leaseMs, to: undefined });
    });
  }

  /**
   * The hold has ended before this object ended the term: the hold was lost, or another part of the library released
   * it. So this object gives no seat back.
   */
  #deposeEnded(): false {
    void this.#depose(this.handle.checkLost() ? 'lost' : 'resigned', () => Promise.resolve());
    return false;
  }

  async #finish({ why, drainMs, to }: Ending): Promise<boolean> {
    const { callbacks, context } = this.#parts;
    const { clock } = context;
    const { signal } = this.#hurrying;
    const endMs = clock.nowMs() + drainMs;
    const isInTime = callbacks.isIdle || (await within(clock, drainMs, callbacks.idle(), signal)) === true;
    if (!isInTime) {
      this.#handOver.leaveTaken();
      this.#leaveBehind(this.#depose(why, () => this.#handOver.giveBack()));
      return false;
    }
    const isHanded = await this.#depose(why, () => this.#giveBack(to));
    // `drainMs` bounds the work of the term and `onDeposed` together.
    await within(clock, Math.max(0, endMs - clock.nowMs()), callbacks.idle(), signal);
    return isHanded;
  }

  async #giveBack(to: string | undefined): Promise<boolean> {
    if (to !== undefined && !this.handle.checkOver())
      return await this.#handOver.give(to, this.#hurrying.signal);
    await this.handle.giveBack();
    return false;
  }

  #leaveBehind(vacated: Promise<unknown>): void {
    const { leftBehind } = this.#parts;
    leftBehind.add(vacated);
    void vacated.then(() => leftBehind.delete(vacated));
  }

  /** Resolves with the result of `vacate`, which is called when the work has ended and `onDeposed` has been called. */
  #depose<T>(why: WhyDeposed, vacate: () => Promise<T>): Promise<T> {
    const { callbacks, listener } = this.#parts;
    const vacated = callbacks.deposed(this.handle, why, vacate);
    listener.deposed(this.handle, why);
    return vacated;
  }

  get #handOver(): TermHandOver {
    return new TermHandOver(this.#parts.context, this.handle, this.#parts.options.durations);
  }
}
