import type { EventEmitter } from 'eventemitter3';
import { AcquireTimeoutError, ProviderClosedError } from '../errors.js';
import { IsolatedEmitter } from '../events.js';
import type { LockHandle } from '../lease/lock-handle.js';
import { parseDrain } from '../options/admin-options.js';
import { parseWait } from '../options/request-options.js';
import type { Requester } from '../primitives/requester.js';
import { describeLease } from '../protocol/snapshot.js';
import { Callbacks } from './callbacks.js';
import type { Worker } from './callbacks.js';
import { Candidacy } from './candidacy.js';
import { parseCandidateId } from './election-options.js';
import type { ParsedElectionOptions, WhyDeposed } from './election-options.js';
import { Hopes } from './hopes.js';
import { readLeader } from './leader-info.js';
import type { LeaderInfo } from './leader-info.js';
import type { Observatory } from './observatory.js';

/** The events of a {@link LeaderElection}: one typed payload each. */
export interface LeaderElectionEvents {
  /** This candidate leads. */
  elected: [LockHandle];
  /** It leads no more. */
  deposed: [DeposedEvent];
  /** Somebody else leads, or nobody; told while the candidate is started and somebody listens. */
  leader: [LeaderInfo | null];
  /** A callback failed, or a request; the candidate goes on. */
  error: [unknown];
}

/** A term has ended. */
export interface DeposedEvent {
  /** The term. */
  readonly term: LockHandle;
  /** Which way it ended. */
  readonly why: WhyDeposed;
}

/** What an election needs of its provider. */
export interface Elections {
  readonly requester: Requester;
  readonly observatory: Observatory;
  /** Those that are started: the provider stops them when it closes. */
  readonly started: Set<LeaderElection>;
  /** Jobs that are started, which it stops before their elections. */
  readonly jobs: Set<StartedJob>;
}

/** A job that runs in the terms of an election. */
export interface StartedJob {
  readonly election: LeaderElection;
  stop(options: { readonly drainMs: number }): Promise<void>;
}

/** How long the work of a term may take to end where nobody says. */
const DRAIN_MS = 5_000;

/**
 * One candidate of an election.
 *
 * Candidates queue; the first leads until it stops, resigns, hands over, or is lost. A term is a hold like any other:
 * its token fences, and its signal aborts when it is over.
 *
 * - `stopped` → `campaigning`, by `start`.
 * - `campaigning`: in the queue, or waiting to queue for the end of work of its last term. → `leading`; → `stopping`.
 * - `leading` → `campaigning`, when the term ends otherwise than by a stop; → `stopping`.
 * - `stopping`: the term's work ends. → `stopped`.
 */
export class LeaderElection extends IsolatedEmitter<LeaderElectionEvents> implements AsyncDisposable {
  /** As it was given to `createLeaderElection`. */
  readonly name: string;
  /** Who stands. */
  readonly candidateId: string;
  readonly #elections: Elections;
  readonly #options: ParsedElectionOptions;
  readonly #callbacks: Callbacks;
  readonly #hopes: Hopes;
  #state: 'stopped' | 'campaigning' | 'leading' | 'stopping' = 'stopped';
  #candidacy: Candidacy | undefined;
  #term: LockHandle | null = null;
  #stopped: Promise<void> | undefined;
  #following: AbortController | undefined;

  /** @internal */
  constructor(elections: Elections, name: string, options: ParsedElectionOptions) {
    super();
    this.name = name;
    this.candidateId = options.candidateId;
    this.#elections = elections;
    this.#options = options;
    const { clock, closing } = elections.requester.context;
    this.#hopes = new Hopes(name, clock, closing);
    this.#callbacks = new Callbacks(options, (error) => {
      this.emit('error', error);
    });
  }

  /** What the candidate is doing. */
  get state(): 'stopped' | 'campaigning' | 'leading' | 'stopping' {
    return this.#state;
  }

  /** Whether its leadership can be relied on at this instant, by the clock; asks nobody. */
  get isLeader(): boolean {
    return this.term?.isHeld === true;
  }

  /** The term, while it leads. */
  get term(): LockHandle | null {
    return this.#term;
  }

  /**
   * Stands for election. May be called again after a `stop`, and while started, which changes nothing.
   *
   * @returns Resolves when the candidate is queued, or leads; if work of an earlier term goes on, that is after its end.
   *   Also when the candidate is stopped before.
   * @throws {@link ProviderClosedError}, {@link LockKindMismatchError}, {@link QueueFullError},
   *   {@link CorruptLockDocumentError}, {@link StoreUnavailableError} if the store refuses; the candidate is stopped
   *   then. What happens later is an `error` event, and the candidate goes on.
   */
  async start(): Promise<void> {
    this.#assertOpen();
    while (this.#state === 'stopping') await this.#stopped;
    this.#assertOpen();
    if (this.#candidacy === undefined) this.#begin();
    await this.#candidacy?.queued;
  }

  /**
   * Resolves with the term once this candidate leads; at once if it does. Of a stopped one it waits for the next start.
   *
   * @throws {@link AcquireTimeoutError} when `timeoutMs` is up; the reason of `signal` when it aborts;
   *   {@link ProviderClosedError}; a `DOMException` named `AbortError` when the candidate is stopped meanwhile.
   */
  async untilElected(options?: {
    timeoutMs?: number | undefined;
    signal?: AbortSignal | undefined;
  }): Promise<LockHandle> {
    const wait = parseWait(options, Infinity);
    this.#assertOpen();
    wait.signal?.throwIfAborted();
    if (this.#term !== null && this.isLeader) return this.#term;
    return await this.#hopes.wait(wait, (waitedMs) => {
      const holders = this.#candidacy?.lastReply?.leases.map(describeLease) ?? [];
      return new AcquireTimeoutError(this.name, { holders, waitedMs });
    });
  }

  /**
   * Leaves the election. A leader's term ends: its signal aborts (why `released`), its `onElected` has `drainMs`
   * (default 5,000) to end, `onDeposed` is called, and the next candidate leads. Work that takes longer keeps the seat
   * until its lease is over, and its `onDeposed` is called when it ends. A term that ends already, for whatever cause, has
   * no longer than that from now on. A grant that is on its way is given back.
   */
  async stop(options?: { drainMs?: number | undefined }): Promise<void> {
    const drainMs = parseDrain(options);
    if (this.#state !== 'stopped') {
      this.#state = 'stopping';
      this.#candidacy?.stop(drainMs);
    }
    await this.#stopped;
  }

  /** Ends the term as `stop` does, and goes to the end of the queue. Of a candidate that does not lead, nothing. */
  async resign(): Promise<void> {
    await this.#candidacy?.resign(DRAIN_MS);
  }

  /**
   * Ends the term as `stop` does, makes that candidate the next leader whatever its place, and goes to the end of the
   * queue: one atomic change, so that nobody is elected in between.
   *
   * @returns Whether it has been done. False, and nothing has changed, if this candidate does not lead or that one does
   *   not wait. Should it leave while the work of the term ends, the first in line is next, and it is false, too.
   * @throws {@link StoreUnavailableError} if nobody could say whether that candidate waits.
   */
  async handOverTo(candidateId: string): Promise<boolean> {
    const to = parseCandidateId(candidateId);
    return (await this.#candidacy?.handOver(to, DRAIN_MS)) ?? false;
  }

  /**
   * Who leads now, by a majority's read; `null` if nobody does. In the transition of a leader that fell silent it is
   * that leader, whose `expiresAt` has passed. Needs no start.
   *
   * @throws {@link StoreUnavailableError}, {@link CorruptLockDocumentError}, {@link ProviderClosedError}.
   */
  async leader(): Promise<LeaderInfo | null> {
    this.#assertOpen();
    return await readLeader(this.#elections.requester.context.collection, this.name);
  }

  /**
   * Who leads, from now on: first the present leader, or `null`, then each next one. Extensions are not shown, and
   * leaders that follow each other faster than they can be read may be left out. Needs no start. Ends when `signal` aborts or the provider closes.
   */
  observe(options?: { signal?: AbortSignal | undefined }): AsyncIterable<LeaderInfo | null> {
    const { signal } = parseWait(options, Infinity);
    this.#assertOpen();
    return this.#elections.observatory.observe(this.name, signal);
  }

  /** Calls the listener at every such event. What it throws reaches nobody else. */
  override on<E extends EventEmitter.EventNames<LeaderElectionEvents>>(
    event: E,
    fn: EventEmitter.EventListener<LeaderElectionEvents, E>,
    context?: unknown,
  ): this {
    super.on(event, fn, context);
    this.#follow();
    return this;
  }

  /** Calls the listener at the next such event. */
  override once<E extends EventEmitter.EventNames<LeaderElectionEvents>>(
    event: E,
    fn: EventEmitter.EventListener<LeaderElectionEvents, E>,
    context?: unknown,
  ): this {
    super.once(event, fn, context);
    this.#follow();
    return this;
  }

  /** @internal Whether it was made by the provider of these. */
  isOneOf(elections: Elections): boolean {
    return this.#elections === elections;
  }

  /** @internal Works in every term from now on. Returns what ends that; throws a `TypeError` for a name it has. */
  attach(worker: Worker): () => void {
    return this.#callbacks.attach(worker);
  }

  /** `stop()`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  #begin(): void {
    const { requester, started } = this.#elections;
    const candidacy = new Candidacy(requester, this.name, this.#options, this.#callbacks, {
      elected: (term) => {
        if (this.#state === 'campaigning') this.#state = 'leading';
        this.#term = term;
        this.#hopes.elected(term);
        this.emit('elected', term);
      },
      ending: () => {
        this.#term = null;
        if (this.#state === 'leading') this.#state = 'campaigning';
      },
      deposed: (term, why) => {
        this.emit('deposed', { term, why });
      },
      failed: (error) => {
        this.emit('error', error);
      },
    });
    this.#candidacy = candidacy;
    this.#state = 'campaigning';
    started.add(this);
    this.#follow();
    this.#stopped = candidacy.run().finally(() => {
      this.#ended();
    });
  }

  #ended(): void {
    this.#candidacy = undefined;
    this.#state = 'stopped';
    this.#elections.started.delete(this);
    this.#following?.abort();
    this.#following = undefined;
    this.#hopes.dashed(new DOMException('The candidate was stopped', 'AbortError'));
  }

  /** Only whoever listens has the leaders read for it. */
  #follow(): void {
    if (this.#candidacy === undefined || this.#following !== undefined) return;
    if (this.listenerCount('leader') === 0) return;
    this.#following = new AbortController();
    void this.#tellLeaders(this.#following.signal);
  }

  async #tellLeaders(signal: AbortSignal): Promise<void> {
    for await (const leader of this.#elections.observatory.observe(this.name, signal)) {
      this.emit('leader', leader);
    }
  }

  #assertOpen(): void {
    if (this.#elections.requester.context.closing.aborted) throw new ProviderClosedError(this.name);
  }
}
