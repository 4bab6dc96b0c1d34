// Folder `election`: candidates queue in one document for the one seat of a leader. This folder has the candidate, its
// terms and callbacks, and the observers of leaders.

import type { EventEmitter } from 'eventemitter3';
import { IsolatedEmitter } from '../isolated-emitter.js';
import { keepAlive } from '../keep-alive.js';
import type { LockHandle } from '../lease/holding/lock-handle.js';
import { parseDrain } from '../options/admin-options.js';
import type { DrainOptions } from '../options/admin-options.js';
import { knownOptions } from '../options/checks.js';
import { storedLeaseMs } from '../options/provider-options.js';
import { parseSignal, parseWait } from '../options/request-options.js';
import type { Worker } from './callbacks.js';
import { Candidate } from './candidate.js';
import type { LeaderElectionEvents } from './election-events.js';
import { parseCandidateId } from './election-options.js';
import type { ParsedElectionOptions } from './election-options.js';
import type { Elections } from './elections.js';
import { readCandidates, readLeader } from './leader-info.js';
import type { CandidateInfo, LeaderInfo } from './leader-info.js';
import { electionWarnings } from './unheard-errors.js';

/**
 * One candidate of an election.
 *
 * Candidates wait in a queue. The first one leads until it stops, resigns, hands over or loses its term. A term is a
 * hold: its token fences, and its signal aborts as soon as the term begins to end.
 *
 * - `stopped`: the candidate does not stand for election. → `campaigning`, by `start`.
 * - `campaigning`: the candidate is in the queue, or queues soon: after the work of its last term, or after a pause. →
 *   `leading`, when the candidate is elected; → `stopping`, by `stop`; → `stopped`, if its first request fails.
 * - `leading`: the candidate is in a term that has not begun to end. → `campaigning`, when the term begins to end
 *   other than by a stop; → `stopping`, by `stop`.
 * - `stopping`: `stop` was called; the candidate leaves the queue, or the work of its term ends. → `stopped`;
 *   `campaigning` follows at once if `start` was called after the last `stop`.
 *
 * When calls of `start` and `stop` overlap, the last call decides.
 */
export class LeaderElection extends IsolatedEmitter<LeaderElectionEvents> implements AsyncDisposable {
  /** The name of the election. All candidates of one name stand in the same election. */
  readonly name: string;
  /** The name under which this candidate stands. */
  readonly candidateId: string;
  readonly #elections: Elections;
  readonly #options: ParsedElectionOptions;
  readonly #candidate: Candidate;
  #following: AbortController | undefined;

  /** @internal */
  constructor(elections: Elections, name: string, options: ParsedElectionOptions) {
    super(electionWarnings(name));
    this.name = name;
    this.candidateId = options.candidateId;
    this.#elections = elections;
    this.#options = options;
    this.#candidate = new Candidate(elections, name, options, {
      started: () => {
        elections.started.add(this);
        this.#follow();
      },
      stopped: () => {
        elections.started.delete(this);
        this.#following?.abort();
        this.#following = undefined;
      },
      elected: (term) => {
        this.emit('elected', term);
      },
      deposed: (term, why) => {
        this.emit('deposed', { term, why });
      },
      failed: (error) => {
        this.emit('error', error);
      },
    });
  }

  /** The present state of the candidate. */
  get state(): 'stopped' | 'campaigning' | 'leading' | 'stopping' {
    return this.#candidate.state;
  }

  /**
   * Whether the candidate can rely on its leadership at this instant, by the local clock. Does not wait for the server.
   */
  get isLeader(): boolean {
    return this.term?.isHeld === true;
  }

  /** The term, while the candidate leads; otherwise `null`. */
  get term(): LockHandle | null {
    return this.#candidate.term;
  }

  /**
   * Stands for election. May be called again, also while a `stop` is going on. If the candidate is started already, the
   * call changes nothing. While the store does not answer, the request is repeated.
   *
   * @returns Resolves when the candidate is queued or leads. If work of an earlier term is running, the candidate is
   *   queued after the end of that work. Also resolves if `stop` is called before the candidate is queued.
   * @throws {@link ProviderClosedError}, {@link LockKindMismatchError}, {@link QueueFullError}, {@link
   *   CorruptLockDocumentError}, {@link UnsupportedServerError}; {@link StoreUnavailableError} if the store refuses. A
   *   candidate whose `start` rejects is stopped. A failure after the candidate was queued is an `error` event, and the
   *   candidate continues. If the store does not answer a request, there is one such event until the store answers.
   */
  async start(): Promise<void> {
    await keepAlive(this.#candidate.start());
  }

  /**
   * Resolves with the term when this candidate leads, at once if it leads already. If the candidate is stopped, the
   * call waits for the next start.
   *
   * @param options - `timeoutMs`: how long to wait, in ms: 0 or more, default no bound. `signal`: ends the wait; the
   *   call rejects with the reason of the signal.
   * @throws {@link AcquireTimeoutError} at most a second after `timeoutMs`: the error names the leader, if there is
   *   one, or says that the store does not answer; the reason of `signal` when it aborts; {@link ProviderClosedError};
   *   a `DOMException` named `AbortError` when `stop` is called while the candidate is not `stopped`, or when the first
   *   request of the candidate fails.
   */
  async untilElected(options?: {
    timeoutMs?: number | undefined;
    signal?: AbortSignal | undefined;
  }): Promise<LockHandle> {
    const wait = parseWait(options, 'untilElected');
    return await keepAlive(this.#candidate.untilElected(wait));
  }

  /**
   * Leaves the election. If the candidate leads, its term ends: the signal of the term aborts (with a `LockLostError`
   * whose `why` is `released`), `onElected` and the runs of the jobs have `drainMs` (default 5,000) to end, `onDeposed`
   * is called, and the next candidate leads. Work that takes longer keeps the seat until the work ends, or until the
   * lease and the transition of the election are over; `onDeposed` is called when the work ends. If the term is ending
   * already, its work has at most `drainMs` from now on. A grant that is on its way is given back.
   *
   * @returns Resolves when the term and `onDeposed` have ended, or `drainMs` is up; if the store does not answer, up to
   *   `storeTimeoutMs` later. Does not wait until the store has removed the place of a queued candidate. A `start` that
   *   is called meanwhile does not delay the result.
   */
  async stop(options?: DrainOptions): Promise<void> {
    const drainMs = parseDrain('stop', options);
    await keepAlive(this.#candidate.stop(drainMs));
  }

  /**
   * Ends the term as `stop` does. The candidate then goes to the end of the queue. If the term is ending already, only
   * waits for its end, for at most `drainMs`. Does nothing if the candidate has no term.
   */
  async resign(options?: DrainOptions): Promise<void> {
    const drainMs = parseDrain('resign', options);
    await keepAlive(this.#candidate.resign(drainMs));
  }

  /**
   * Ends the term as `stop` does, and makes the other candidate, `candidateId`, the next leader, whatever its place.
   * This candidate goes to the end of the queue. One atomic change gives the seat to the other candidate, so no third
   * candidate is elected in between.
   *
   * @returns Whether the other candidate got the seat. If this candidate does not lead, or if the other candidate has
   *   no live place in the queue, the result is false and nothing has changed. The result is also false in these cases:
   *   the term was lost; the term was ending already (it may still be ending after `drainMs`); the other candidate left
   *   while the work ended; the work took longer than `drainMs`, or than the `drainMs` of a later `stop`; the answer of
   *   the store was lost. The next leader is then elected as after any other end of a term. After a lost answer, the
   *   other candidate may lead already.
   * @throws {@link StoreUnavailableError}, {@link UnsupportedServerError} if the store could not say whether the other
   *   candidate waits.
   */
  async handOverTo(candidateId: string, options?: DrainOptions): Promise<boolean> {
    const to = parseCandidateId(candidateId);
    const drainMs = parseDrain('handOverTo', options);
    return await keepAlive(this.#candidate.handOver(to, drainMs));
  }

  /**
   * Reads the present leader, with read concern majority; `null` if there is none. During the transition of the
   * election, the silent leader is still shown, and its `expiresAt` has passed. Also works for a stopped candidate.
   *
   * @throws {@link StoreUnavailableError}, {@link UnsupportedServerError}, {@link CorruptLockDocumentError}, {@link
   *   ProviderClosedError}.
   */
  async leader(): Promise<LeaderInfo | null> {
    this.#candidate.assertOpen();
    return await keepAlive(readLeader(this.#elections.requester.context.collection, this.name));
  }

  /**
   * Reads the candidates, with read concern majority: the leader, if there is one, and then the standbys in the order
   * of the queue. A leader that died is shown until its lease and the transition of the election are over. A standby
   * that died is shown until its place expires. Also works for a stopped candidate.
   *
   * @throws As `leader`.
   */
  async candidates(): Promise<readonly CandidateInfo[]> {
    this.#candidate.assertOpen();
    return await keepAlive(readCandidates(this.#elections.requester.context.collection, this.name));
  }

  /**
   * Iterates over the leaders: first the present leader, and then each next leader; `null` if there is none. Extensions
   * are not shown. If leaders change faster than this process reads, some may be left out. For a slow caller, the
   * newest 100 unread leaders are kept. Also works for a stopped candidate. The iteration ends when `signal` aborts or
   * the provider closes. `return` ends the iteration at once, also while a `next` is pending.
   *
   * @throws {@link ProviderClosedError}.
   */
  observe(options?: { signal?: AbortSignal | undefined }): AsyncIterable<LeaderInfo | null> {
    const signal = parseSignal(knownOptions(options, 'observe', { signal: true }).signal);
    this.#candidate.assertOpen();
    return this.#elections.leaderWatch.observe(this.name, signal, true);
  }

  /** Calls the listener for every event of this name. An error of the listener becomes a process warning. */
  override on<E extends EventEmitter.EventNames<LeaderElectionEvents>>(
    event: E,
    fn: EventEmitter.EventListener<LeaderElectionEvents, E>,
    context?: unknown,
  ): this {
    super.on(event, fn, context);
    this.#follow();
    return this;
  }

  /** Calls the listener for the next event of this name. */
  override once<E extends EventEmitter.EventNames<LeaderElectionEvents>>(
    event: E,
    fn: EventEmitter.EventListener<LeaderElectionEvents, E>,
    context?: unknown,
  ): this {
    super.once(event, fn, context);
    this.#follow();
    return this;
  }

  /** @internal Whether the provider that owns `elections` created this election. */
  isOneOf(elections: Elections): boolean {
    return this.#elections === elections;
  }

  /** @internal The time, in ms, for which the seat of a silent leader stays taken: `leaseMs` plus `transitionMs`. */
  get storedLeaseMs(): number {
    return storedLeaseMs(this.#options.durations);
  }

  /**
   * @internal Starts the worker in the present term, if there is one, and in every later term. Returns a function that
   *   detaches the worker.
   *
   * @throws `TypeError` if the name of the worker is in use.
   */
  attach(worker: Worker): () => void {
    return this.#candidate.attach(worker);
  }

  override toJSON(): object {
    const { name, candidateId, state, term } = this;
    return { name, candidateId, state, fencingToken: term?.fencingToken ?? null };
  }

  /** Same as `stop()`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  /** Begins to emit `leader` events if the candidate is started and the event has a listener. */
  #follow(): void {
    if (this.state === 'stopped' || this.#following !== undefined) return;
    if (this.listenerCount('leader') === 0) return;
    this.#following = new AbortController();
    const leaders = this.#elections.leaderWatch.observe(this.name, this.#following.signal, false);
    void (async () => {
      for await (const leader of leaders) this.emit('leader', leader);
    })();
  }
}
