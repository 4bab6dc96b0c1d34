import { AcquireTimeoutError, ProviderClosedError } from '../errors.js';
import type { LockHandle } from '../lease/holding/lock-handle.js';
import type { ParsedWait } from '../options/request-options.js';
import { StateMachine } from '../state-machine.js';
import type { Moves } from '../state-machine.js';
import { Callbacks } from './callbacks.js';
import type { Worker } from './callbacks.js';
import { Candidacy } from './candidacy.js';
import type { ParsedElectionOptions, WhyDeposed } from './election-options.js';
import { ElectionWaiters } from './election-waiters.js';
import type { Elections } from './elections.js';
import { lateError } from './late-error.js';
import { PendingStops } from './pending-stops.js';

type CandidateState = 'stopped' | 'campaigning' | 'leading' | 'stopping';

const MOVES: Moves<CandidateState> = {
  stopped: ['campaigning'],
  campaigning: ['leading', 'stopping', 'stopped'],
  leading: ['campaigning', 'stopping'],
  stopping: ['stopping', 'stopped'],
};

export interface CandidateListener {
  started(): void;
  stopped(): void;
  elected(term: LockHandle): void;
  deposed(term: LockHandle, why: WhyDeposed): void;
  failed(error: unknown): void;
}

/**
 * One candidate, through all its starts and stops. `LeaderElection` describes the states. After a `start` during
 * `stopping`, the candidate stands again as soon as it is `stopped`.
 */
export class Candidate {
  readonly #elections: Elections;
  readonly #name: string;
  readonly #options: ParsedElectionOptions;
  readonly #listener: CandidateListener;
  readonly #callbacks: Callbacks;
  readonly #waiters: ElectionWaiters;
  readonly #stops: PendingStops;
  readonly #state = new StateMachine<CandidateState>('stopped', MOVES);
  /** Whether `start` was called after the last `stop`. */
  #isWanted = false;
  /** `undefined` in the state `stopped`. */
  #candidacy: Candidacy | undefined;
  #term: LockHandle | null = null;
  /** Resolves when the present or the last candidacy is over; `undefined` before the first start. */
  #stopped: Promise<void> | undefined;

  constructor(
    elections: Elections,
    name: string,
    options: ParsedElectionOptions,
    listener: CandidateListener,
  ) {
    this.#elections = elections;
    this.#name = name;
    this.#options = options;
    this.#listener = listener;
    const { clock, closing } = elections.requester.context;
    this.#waiters = new ElectionWaiters(name, clock, closing);
    this.#stops = new PendingStops(clock);
    this.#callbacks = new Callbacks(options, (error) => {
      listener.failed(error);
    });
  }

  get state(): CandidateState {
    return this.#state.now;
  }

  get term(): LockHandle | null {
    return this.#term;
  }

  attach(worker: Worker): () => void {
    return this.#callbacks.attach(worker);
  }

  async start(): Promise<void> {
    this.assertOpen();
    this.#isWanted = true;
    await this.#start();
  }

  async #start(): Promise<void> {
    while (this.#state.is('stopping')) await this.#stopped;
    this.assertOpen();
    // If `stop` was called after this `start`, the candidate stays stopped, because the last call counts.
    if (!this.#isWanted) return;
    if (this.#state.is('stopped')) this.#begin();
    await this.#candidacy?.queued;
  }

  async stop(drainMs: number): Promise<void> {
    this.#isWanted = false;
    if (!this.#state.is('stopped')) {
      this.#state.to('stopping');
      this.#candidacy?.stop(drainMs);
      this.#waiters.fail(new DOMException('The candidate was stopped', 'AbortError'));
    }
    await this.#stops.wait(drainMs, this.#stopped, () => this.#callbacks.ended());
  }

  async untilElected(wait: ParsedWait): Promise<LockHandle> {
    this.assertOpen();
    wait.signal?.throwIfAborted();
    if (this.#term?.isHeld === true) return this.#term;
    const [name, { candidateId }] = [this.#name, this.#options];
    const tooLate = (waitedMs: number): Promise<AcquireTimeoutError> =>
      lateError(this.#elections.requester, {
        ...{ name, candidateId, waitedMs },
        trouble: this.#candidacy?.trouble,
      });
    return await this.#waiters.wait(wait, tooLate);
  }

  async resign(drainMs: number): Promise<void> {
    await this.#candidacy?.resign(drainMs);
  }

  async handOver(to: string, drainMs: number): Promise<boolean> {
    return (await this.#candidacy?.handOver(to, drainMs)) ?? false;
  }

  assertOpen(): void {
    if (this.#elections.requester.context.closing.aborted) throw new ProviderClosedError(this.#name);
  }

  #begin(): void {
    const { requester, leftBehind } = this.#elections;
    const listener = {
      elected: (term: LockHandle) => {
        // This check is a precaution: `leading` must not follow `stopping`. After a stop, `Candidacy` gives back a
        // grant without calling `elected`.
        if (this.#state.is('campaigning')) this.#state.to('leading');
        this.#term = term;
        this.#waiters.elected(term);
        this.#listener.elected(term);
      },
      ending: () => {
        this.#term = null;
        if (this.#state.is('leading')) this.#state.to('campaigning');
      },
      deposed: (term: LockHandle, why: WhyDeposed) => {
        this.#listener.deposed(term, why);
      },
      failed: (error: unknown) => {
        this.#listener.failed(error);
      },
    };
    const [name, options, callbacks] = [this.#name, this.#options, this.#callbacks];
    this.#candidacy = new Candidacy({ requester, name, options, callbacks, listener, leftBehind });
    this.#state.to('campaigning');
    this.#listener.started();
    this.#stopped = this.#candidacy.run().finally(() => {
      this.#ended();
    });
  }

  #ended(): void {
    // After a stop, nothing is left to reject: `stop` has rejected the earlier calls of `untilElected`, and later calls
    // wait for the next start.
    if (!this.#state.is('stopping'))
      this.#waiters.fail(new DOMException('The candidate was refused', 'AbortError'));
    this.#candidacy = undefined;
    this.#state.to('stopped');
    this.#listener.stopped();
  }
}
