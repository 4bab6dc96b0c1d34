import { pauseBeforeRepeat, sleepUntil, within } from '../clock.js';
import { ProviderClosedError } from '../errors.js';
import type { Requester, Target } from '../primitives/requester.js';
import { electionSeats } from '../protocol/election-seats.js';
import type { Reply } from '../protocol/reply.js';
import type { Callbacks } from './callbacks.js';
import type { ParsedElectionOptions, WhyDeposed } from './election-options.js';
import { HandOver } from './hand-over.js';
import { Return } from './return.js';
import { TermHandle } from './term-handle.js';

/** Who hears what becomes of a candidacy. */
export interface CandidacyListener {
  elected(term: TermHandle): void;
  /** The term is not to be relied on from now on; its work may go on for a while. */
  ending(): void;
  deposed(term: TermHandle, why: WhyDeposed): void;
  failed(error: unknown): void;
}

/** How a term is to end. */
interface Ending {
  readonly why: WhyDeposed;
  readonly drainMs: number;
  /** The candidate that it is handed to. */
  readonly to?: string | undefined;
  /** Whether that candidate has it; in any case when all is over. */
  readonly settle: (isHanded: boolean) => void;
}

/**
 * One candidate from its start to its stop: it queues, leads, and queues again. It does not stand while work of its last
 * term goes on: elected, it could do nothing, and would keep those from leading who can.
 *
 * A term ends in this order, whoever wants it to: its signal aborts; its `onElected` ends, for which it has so long;
 * its `onDeposed` is called; the seat is given back. So nobody else is elected between the two callbacks. Work that
 * takes longer keeps the seat until the lease is over.
 */
export class Candidacy {
  /** Resolves when the candidate has its place in the queue, or is stopped before; rejects if it is refused one. */
  readonly queued: Promise<void>;
  readonly #requester: Requester;
  readonly #options: ParsedElectionOptions;
  readonly #callbacks: Callbacks;
  readonly #listener: CandidacyListener;
  readonly #target: Target<TermHandle>;
  readonly #return: Return;
  readonly #stopping = new AbortController();
  /** Aborts when the time is up that a stop leaves an ending which goes on already. */
  readonly #hurrying = new AbortController();
  #isQueued = false;
  #resolveQueued!: () => void;
  #rejectQueued!: (error: unknown) => void;
  #lastReply: Reply | undefined;
  #term: TermHandle | undefined;
  #end: ((ending: Ending) => void) | undefined;

  constructor(
    requester: Requester,
    name: string,
    options: ParsedElectionOptions,
    callbacks: Callbacks,
    listener: CandidacyListener,
  ) {
    this.#requester = requester;
    this.#options = options;
    this.#callbacks = callbacks;
    this.#listener = listener;
    const { candidateId, value, transitionMs, terms } = options;
    this.#return = new Return(requester.context, name, candidateId);
    this.queued = new Promise((resolve, reject) => {
      this.#resolveQueued = resolve;
      this.#rejectQueued = reject;
    });
    // Whoever starts a candidate may not wait for it.
    this.queued.catch(() => undefined);
    this.#target = {
      name,
      terms,
      seats: electionSeats,
      demand: () => ({ candidateId, value, transitionMs }),
      makeHandle: (hold, holds) => new TermHandle(hold, holds),
      onReply: (reply) => {
        this.#lastReply = reply;
        this.#return.note(reply);
      },
      onQueued: () => {
        this.#queuedNow();
      },
    };
  }

  get lastReply(): Reply | undefined {
    return this.#lastReply;
  }

  /** Resolves when it is over. */
  async run(): Promise<void> {
    const { clock } = this.#requester.context;
    const { signal } = this.#stopping;
    let failures = 0;
    while (!signal.aborted) {
      try {
        if (!this.#callbacks.isIdle) await within(clock, Infinity, this.#callbacks.idle(), signal);
        const term = await this.#stand(signal);
        failures = 0;
        await this.#lead(term);
      } catch (error) {
        if (this.#isFinal(error)) break;
        this.#listener.failed(error);
        await pauseBeforeRepeat(clock, failures, signal);
        failures += 1;
      }
    }
    this.#hurrying.abort();
    // Of one that was stopped before it was queued.
    this.#resolveQueued();
  }

  /** Ends the candidacy, and its term if it leads. A term that ends already has no longer than that from now on. */
  stop(drainMs: number): void {
    this.#stopping.abort();
    if (this.#end === undefined) void this.#hurry(drainMs);
    else void this.#endTerm('stopped', drainMs);
  }

  async #hurry(drainMs: number): Promise<void> {
    const { clock } = this.#requester.context;
    await sleepUntil(clock, clock.nowMs() + drainMs, this.#hurrying.signal);
    this.#hurrying.abort();
  }

  async resign(drainMs: number): Promise<void> {
    await this.#endTerm('resigned', drainMs);
  }

  /** Whether that candidate was there, and leads now. */
  async handOver(to: string, drainMs: number): Promise<boolean> {
    const term = this.#term;
    if (term === undefined || !(await this.#handOverOf(term).isPossible(to)) || term !== this.#term)
      return false;
    return await this.#endTerm('handed-over', drainMs, to);
  }

  #endTerm(why: WhyDeposed, drainMs: number, to?: string): Promise<boolean> {
    return new Promise((resolve) => {
      if (this.#end === undefined) resolve(false);
      else this.#end({ why, drainMs, to, settle: resolve });
    });
  }

  #queuedNow(): void {
    this.#isQueued = true;
    this.#resolveQueued();
  }

  #isFinal(error: unknown): boolean {
    if (this.#stopping.signal.aborted) return true;
    if (this.#isQueued && !(error instanceof ProviderClosedError)) return false;
    this.#rejectQueued(error);
    return true;
  }

  async #stand(signal: AbortSignal): Promise<TermHandle> {
    try {
      return await this.#requester.acquire(this.#target, { signal });
    } finally {
      this.#return.cancel();
    }
  }

  // ---- a term

  async #lead(term: TermHandle): Promise<void> {
    this.#queuedNow();
    // Granted in the very turn of the stop: nobody hears of it.
    if (this.#stopping.signal.aborted) {
      await term.release();
      return;
    }
    const over = this.#overOf(term);
    this.#term = term;
    this.#listener.elected(term);
    this.#callbacks.elected(term);
    const ending = await over;
    this.#term = undefined;
    this.#listener.ending();
    // Of a hold that is lost it has aborted.
    term.end();
    if (ending === undefined) this.#depose(term, term.isLost ? 'lost' : 'resigned');
    else ending.settle(await this.#finish(term, ending));
  }

  /** Resolves with how it is to end; `undefined`: it has ended. */
  #overOf(term: TermHandle): Promise<Ending | undefined> {
    return new Promise((resolve) => {
      const end = (ending: Ending | undefined): void => {
        // Whoever wants to end it from now on finds that it ends, and waits for no answer.
        this.#end = undefined;
        resolve(ending);
      };
      this.#end = end;
      term.onEnded(() => {
        end(undefined);
      });
      term.releaseRequested.addEventListener('abort', () => {
        // By a revocation: of a provider that closes, the elections are stopped, each when its jobs have been.
        if (this.#requester.context.closing.aborted) return;
        end({ why: 'resigned', drainMs: this.#options.terms.leaseMs, settle: () => undefined });
      });
    });
  }

  async #finish(term: TermHandle, { why, drainMs, to }: Ending): Promise<boolean> {
    const { clock } = this.#requester.context;
    const { signal } = this.#hurrying;
    const isDrained = this.#callbacks.isIdle || (await within(clock, drainMs, this.#drained(term), signal));
    if (isDrained !== true && !term.isOver) {
      this.#handOverOf(term).keep();
      this.#depose(term, why);
      return false;
    }
    this.#depose(term, why);
    const isHanded = await this.#giveBack(term, to);
    await within(clock, drainMs, this.#callbacks.idle(), signal);
    return isHanded;
  }

  /** When its work has ended, or the hold has. */
  #drained(term: TermHandle): Promise<true> {
    return Promise.race([
      this.#callbacks.idle(),
      new Promise<true>((resolve) => {
        term.onEnded(() => {
          resolve(true);
        });
      }),
    ]);
  }

  async #giveBack(term: TermHandle, to: string | undefined): Promise<boolean> {
    if (to !== undefined && !term.isOver) return await this.#handOverOf(term).give(to);
    await term.release();
    return false;
  }

  #depose(term: TermHandle, why: WhyDeposed): void {
    this.#callbacks.deposed(term, why);
    this.#listener.deposed(term, why);
  }

  #handOverOf(term: TermHandle): HandOver {
    return new HandOver(this.#requester.context, term, this.#options.terms.leaseMs);
  }
}
