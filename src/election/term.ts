import { sleepUntil, within } from '../clock.js';
import type { AcquisitionContext } from '../lease/acquiring/acquisition-context.js';
import { DRAIN_MS } from '../options/admin-options.js';
import type { Callbacks } from './callbacks.js';
import type { ParsedElectionOptions, WhyDeposed } from './election-options.js';
import { HandOver } from './hand-over.js';
import type { TermHandle } from './term-handle.js';

/** Hears what becomes of the terms of a candidate. */
export interface TermListener {
  elected(term: TermHandle): void;
  /** The term is not to be relied on from now on; its work may go on for a while. */
  ending(): void;
  deposed(term: TermHandle, why: WhyDeposed): void;
}

/** What a term needs of its candidate. */
export interface TermParts {
  readonly context: AcquisitionContext;
  readonly options: ParsedElectionOptions;
  readonly callbacks: Callbacks;
  readonly listener: TermListener;
  /** The seats of work that outlives its time to end: each settles when its seat has been given back. */
  readonly leftBehind: Set<Promise<unknown>>;
}

/** How a term is to end. */
interface Ending {
  readonly why: WhyDeposed;
  readonly drainMs: number;
  /** The candidate that it is handed to. */
  readonly to: string | undefined;
}

/**
 * One term of a candidate. It ends in this order, whoever wants it to: its signal aborts; its work ends, for which it
 * has so long; its `onDeposed` is called; the seat is given back. So nobody else is elected between the two callbacks.
 *
 * Work that takes longer keeps the seat until it ends, but no longer than the lease goes on: from the end of its time on
 * nothing extends that, so that work which never ends does not keep all others from leading.
 */
export class Term {
  readonly handle: TermHandle;
  readonly #parts: TermParts;
  /** Resolves with how it is to end; `undefined`: it has ended. The first to say so decides. */
  readonly #ends: Promise<Ending | undefined>;
  /** Resolves when its end is over: with whether the candidate that it was to be handed to has it. */
  readonly #over: Promise<boolean>;
  /** Aborts when the time is up that a stop leaves an end which goes on already. */
  readonly #hurrying = new AbortController();
  #isEnding = false;
  #hasFailed = false;
  #end!: (ending: Ending | undefined) => void;
  #settle!: (isHanded: boolean) => void;

  constructor(parts: TermParts, handle: TermHandle) {
    this.#parts = parts;
    this.handle = handle;
    this.#over = new Promise((resolve) => {
      this.#settle = resolve;
    });
    this.#ends = new Promise((resolve) => {
      this.#end = (ending) => {
        if (this.#isEnding) return;
        this.#isEnding = true;
        parts.listener.ending();
        // The signal of a hold that is lost has aborted.
        handle.end();
        resolve(ending);
      };
    });
  }

  /** Whether its `onElected` failed, and it ends, or has ended, because of that. */
  get hasFailed(): boolean {
    return this.#hasFailed;
  }

  /** From the election to the end. */
  async lead(): Promise<void> {
    const { handle } = this;
    const { callbacks, listener, options } = this.#parts;
    // First: a hold that is over already ends its term as soon as it is watched.
    listener.elected(handle);
    this.#watch();
    callbacks.elected(handle, () => {
      if (options.onFailure === 'lead-on' || this.#isEnding) return;
      this.#hasFailed = true;
      this.#end({ why: 'resigned', drainMs: DRAIN_MS, to: undefined });
    });
    const ending = await this.#ends;
    this.#settle(ending === undefined ? this.#ended() : await this.#finish(ending));
    this.#hurrying.abort();
  }

  /** Ends it, unless it ends already: then waits for that, no longer than `drainMs`. Gives what `#over` does. */
  async end(why: WhyDeposed, drainMs: number, to?: string): Promise<boolean> {
    if (this.#isEnding) {
      await within(this.#parts.context.clock, drainMs, this.#over);
      return false;
    }
    this.#end({ why, drainMs, to });
    return await this.#over;
  }

  /** Ends it; if it ends already, its work has no longer than that from now on. */
  stop(drainMs: number): void {
    if (this.#isEnding) void this.#hurry(drainMs);
    else this.#end({ why: 'stopped', drainMs, to: undefined });
  }

  async #hurry(drainMs: number): Promise<void> {
    const { clock } = this.#parts.context;
    await sleepUntil(clock, clock.nowMs() + drainMs, this.#hurrying.signal);
    this.#hurrying.abort();
  }

  #watch(): void {
    const { handle } = this;
    const { context, options } = this.#parts;
    handle.onEnded(() => {
      this.#end(undefined);
    });
    handle.releaseRequested.addEventListener('abort', () => {
      // By a revocation, after which nothing extends the lease. A provider that closes stops its elections itself.
      if (context.closing.aborted) return;
      this.#end({ why: 'resigned', drainMs: options.terms.leaseMs, to: undefined });
    });
  }

  /** It was lost, or given back by something else than its own end. */
  #ended(): false {
    void this.#depose(this.handle.isLost ? 'lost' : 'resigned', () => Promise.resolve());
    return false;
  }

  async #finish({ why, drainMs, to }: Ending): Promise<boolean> {
    const { callbacks, context } = this.#parts;
    const { clock } = context;
    const { signal } = this.#hurrying;
    const endMs = clock.nowMs() + drainMs;
    const isInTime = callbacks.isIdle || (await within(clock, drainMs, callbacks.idle(), signal)) === true;
    if (!isInTime) {
      this.#handOver.keep();
      this.#leaveBehind(this.#depose(why, () => this.#handOver.leave()));
      return false;
    }
    const isHanded = await this.#depose(why, () => this.#giveBack(to));
    // The time is that of both callbacks.
    await within(clock, Math.max(0, endMs - clock.nowMs()), callbacks.idle(), signal);
    return isHanded;
  }

  async #giveBack(to: string | undefined): Promise<boolean> {
    if (to !== undefined && !this.handle.isOver) return await this.#handOver.give(to, this.#hurrying.signal);
    await this.handle.giveBack();
    return false;
  }

  #leaveBehind(vacated: Promise<unknown>): void {
    const { leftBehind } = this.#parts;
    leftBehind.add(vacated);
    void vacated.then(() => leftBehind.delete(vacated));
  }

  /** Resolves when its work has ended, `onDeposed` has been called, and the seat is given back. */
  #depose<T>(why: WhyDeposed, vacate: () => Promise<T>): Promise<T> {
    const { callbacks, listener } = this.#parts;
    const vacated = callbacks.deposed(this.handle, why, vacate);
    listener.deposed(this.handle, why);
    return vacated;
  }

  get #handOver(): HandOver {
    return new HandOver(this.#parts.context, this.handle, this.#parts.options.terms);
  }
}
