import { BETWEEN_REPEATS, Backoff } from '../backoff.js';
import { within } from '../clock.js';
import { ProviderClosedError, StoreUnavailableError } from '../errors.js';
import { DRAIN_MS } from '../options/admin-options.js';
import type { Requester, Target } from '../primitives/requester.js';
import { electionRules } from '../protocol/kinds/election-rules.js';
import type { Callbacks } from './callbacks.js';
import type { ParsedElectionOptions } from './election-options.js';
import { TermHandOver } from './hand-over.js';
import { ReturnTimer } from './return-timer.js';
import { TermHandle } from './term-handle.js';
import { Term } from './term.js';
import type { TermListener, TermParts } from './term.js';

export interface CandidacyListener extends TermListener {
  failed(error: unknown): void;
}

export interface CandidacyParts extends Omit<TermParts, 'context'> {
  readonly requester: Requester;
  readonly name: string;
  readonly listener: CandidacyListener;
}

/**
 * The pauses before a candidate queues again after one or more terms in a row that it gave up because `onElected`
 * failed. During a pause, another candidate can lead.
 */
const BETWEEN_FAILED_TERMS = new Backoff(500, 30_000);

/**
 * One candidate from its start to its stop: the candidate queues, leads, and queues again. The candidate does not queue
 * while work of its last term is running. If the candidate were elected then, it could not begin the work of the new
 * term, and would keep out candidates that can.
 */
export class Candidacy {
  /** Resolves when the candidate has a place in the queue, leads, or is stopped. Rejects if its first request fails. */
  readonly queued: Promise<void>;
  readonly #requester: Requester;
  readonly #options: ParsedElectionOptions;
  readonly #callbacks: Callbacks;
  readonly #listener: CandidacyListener;
  readonly #termParts: TermParts;
  readonly #target: Target<TermHandle>;
  readonly #return: ReturnTimer;
  readonly #stopping = new AbortController();
  #isQueued = false;
  #resolveQueued!: () => void;
  #rejectQueued!: (error: unknown) => void;
  #trouble: unknown;
  #term: Term | undefined;

  constructor(parts: CandidacyParts) {
    const { requester, name, options, callbacks, listener } = parts;
    this.#requester = requester;
    this.#options = options;
    this.#callbacks = callbacks;
    this.#listener = listener;
    this.#termParts = { ...parts, context: requester.context };
    const { candidateId, value, transitionMs, durations } = options;
    this.#return = new ReturnTimer(requester.context, name, candidateId);
    this.queued = new Promise((resolve, reject) => {
      this.#resolveQueued = resolve;
      this.#rejectQueued = reject;
    });
    // Even if nothing awaits `queued`, its rejection must not become an unhandled rejection.
    this.queued.catch(() => undefined);
    this.#target = {
      name,
      durations,
      rules: electionRules,
      demand: () => ({ candidateId, value, transitionMs }),
      makeHandle: (hold, holds) => new TermHandle(hold, holds, (term) => this.#release(term)),
      onReply: (reply) => {
        this.#trouble = undefined;
        this.#return.note(reply);
      },
      onQueued: () => {
        this.#queuedNow();
      },
      onTrouble: (error) => {
        this.#troubled(error);
      },
    };
  }

  /**
   * The last error that left the outcome of this candidate's request unknown; `undefined` if the store has replied
   * since.
   */
  get trouble(): unknown {
    return this.#trouble;
  }

  /**
   * Resolves when the candidacy is over: the candidate was stopped and its term has ended, its first request failed
   * before the candidate was queued, or its provider was closed. Never rejects.
   */
  async run(): Promise<void> {
    const { clock } = this.#requester.context;
    const { signal } = this.#stopping;
    let failures = 0;
    let failedTerms = 0;
    while (!signal.aborted) {
      try {
        if (!this.#callbacks.isIdle) await within(clock, Infinity, this.#callbacks.idle(), signal);
        const handle = await this.#stand(signal);
        failures = 0;
        failedTerms = (await this.#lead(handle)) ? 0 : failedTerms + 1;
        if (failedTerms > 0) await BETWEEN_FAILED_TERMS.pause(clock, failedTerms - 1, signal);
      } catch (error) {
        if (this.#endsCandidacy(error)) break;
        this.#listener.failed(error);
        await BETWEEN_REPEATS.pause(clock, failures, signal);
        failures += 1;
      }
    }
    // The candidate may have been stopped before it was queued.
    this.#resolveQueued();
  }

  /**
   * Ends the candidacy, and the term if the candidate leads. If the term is ending already, the work of the term has
   * at most `drainMs` from now on.
   */
  stop(drainMs: number): void {
    this.#stopping.abort();
    this.#term?.stop(drainMs);
  }

  async resign(drainMs: number): Promise<void> {
    await this.#term?.end('resigned', drainMs);
  }

  /** Resolves with whether an answer of the store shows that the candidate `to` got the seat. */
  async handOver(to: string, drainMs: number): Promise<boolean> {
    const term = this.#term;
    if (term === undefined) return false;
    const { context } = this.#requester;
    const isPossible = await new TermHandOver(context, term.handle, this.#options.durations).isPossible(to);
    return isPossible && (await term.end('handed-over', drainMs, to));
  }

  #queuedNow(): void {
    this.#isQueued = true;
    this.#resolveQueued();
  }

  /**
   * Called each time the outcome of a copy of the request is unknown; the request is then repeated. Reports only the
   * first failure until the store answers again.
   */
  #troubled(error: unknown): void {
    const isNew = this.#trouble === undefined;
    this.#trouble = error;
    if (isNew) this.#listener.failed(new StoreUnavailableError(this.#target.name, false, error));
  }

  #endsCandidacy(error: unknown): boolean {
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

  /** Resolves with false if `onElected` failed and the term was given up for that reason. */
  async #lead(handle: TermHandle): Promise<boolean> {
    this.#queuedNow();
    // If `stop` was called while the grant was on its way, the seat is given back, and there is no event `elected`.
    if (this.#stopping.signal.aborted) {
      await handle.giveBack();
      return true;
    }
    const term = new Term(this.#termParts, handle);
    this.#term = term;
    try {
      await term.lead();
    } finally {
      this.#term = undefined;
    }
    return !term.hasFailed;
  }

  async #release(handle: TermHandle): Promise<void> {
    const term = this.#term;
    if (term?.handle === handle) await term.end('resigned', DRAIN_MS);
  }
}
