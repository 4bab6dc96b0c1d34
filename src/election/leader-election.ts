import type { EventEmitter } from 'eventemitter3';
import { ProviderClosedError } from '../errors.js';
import { IsolatedEmitter } from '../events.js';
import { keepAlive } from '../keep-alive.js';
import type { LockHandle } from '../lease/holding/lock-handle.js';
import { parseDrain } from '../options/admin-options.js';
import type { DrainOptions } from '../options/admin-options.js';
import { record } from '../options/checks.js';
import { storedLeaseMs } from '../options/provider-options.js';
import { parseSignal, parseWait } from '../options/request-options.js';
import { Callbacks } from './callbacks.js';
import type { Worker } from './callbacks.js';
import { Candidacy } from './candidacy.js';
import type { LeaderElectionEvents } from './election-events.js';
import { parseCandidateId } from './election-options.js';
import type { ParsedElectionOptions, WhyDeposed } from './election-options.js';
import type { Elections } from './elections.js';
import { ElectionWaiters } from './election-waiters.js';
import { lateError } from './late-error.js';
import { readCandidates, readLeader } from './leader-info.js';
import type { CandidateInfo, LeaderInfo } from './leader-info.js';
import { PendingStops } from './pending-stops.js';
import { sayingsOfElection } from './unheard-errors.js';

/**
 * One candidate of an election.
 *
 * Candidates queue; the first leads until it stops, resigns, hands over, or is lost. A term is a hold like any other:
 * its token fences, and its signal aborts when it is over.
 *
 * - `stopped` → `campaigning`, by `start`.
 * - `campaigning`: in the queue; or waiting to queue, for the end of work of its last term or after a failed one.
 *   → `leading`; → `stopping`.
 * - `leading` → `campaigning`, when the term ends otherwise than by a stop; → `stopping`.
 * - `stopping`: the term's work ends. → `stopped`, and on to `campaigning` if `start` was called after the last `stop`.
 *
 * When calls of `start` and `stop` overlap, the last one decides.
 */
export class LeaderElection extends IsolatedEmitter<LeaderElectionEvents> implements AsyncDisposable {
  /** The election: all candidates of this name stand in the same one. */
  readonly name: string;
  /** The id under which this candidate stands. */
  readonly candidateId: string;
  readonly #elections: Elections;
  readonly #options: ParsedElectionOptions;
  readonly #callbacks: Callbacks;
  readonly #waiters: ElectionWaiters;
  #state: 'stopped' | 'campaigning' | 'leading' | 'stopping' = 'stopped';
  /** Whether the last call of `start` and `stop` was a start. */
  #isWanted = false;
  readonly #stops: PendingStops;
  #candidacy: Candidacy | undefined;
  #term: LockHandle | null = null;
  #stopped: Promise<void> | undefined;
  #following: AbortController | undefined;

  /** @internal */
  constructor(elections: Elections, name: string, options: ParsedElectionOptions) {
    super(sayingsOfElection(name));
    this.name = name;
    this.candidateId = options.candidateId;
    this.#elections = elections;
    this.#options = options;
    const { clock, closing } = elections.requester.context;
    this.#waiters = new ElectionWaiters(name, clock, closing);
    this.#stops = new PendingStops(clock);
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
   * Stands for election. May be called again after a `stop`, also while that goes on, and while started, which changes
   * nothing. While the store does not answer it is asked again and again.
   *
   * @returns Resolves when the candidate is queued, or leads; if work of an earlier term goes on, that is after its end.
   *   Also when `stop` is called before.
   * @throws {@link ProviderClosedError}, {@link LockKindMismatchError}, {@link QueueFullError},
   *   {@link CorruptLockDocumentError}, {@link StoreUnavailableError} if the store refuses; the candidate is stopped
   *   then. What happens later is an `error` event, and the candidate goes on. So is, once, a store that does not answer.
   */
  async start(): Promise<void> {
    this.#assertOpen();
    this.#isWanted = true;
    await keepAlive(this.#start());
  }

  async #start(): Promise<void> {
    while (this.#state === 'stopping') await this.#stopped;
    this.#assertOpen();
    // A stop was called after this start.
    if (!this.#isWanted) return;
    if (this.#candidacy === undefined) this.#begin();
    await this.#candidacy?.queued;
  }

  /**
   * Resolves with the term once this candidate leads; at once if it does. Of a stopped one it waits for the next start.
   *
   * @throws {@link AcquireTimeoutError} when `timeoutMs` is up, which names the leader, or says that the store does not
   *   answer, within a second; the reason of `signal` when it aborts; {@link ProviderClosedError}; a `DOMException` named
   *   `AbortError` when the candidate is stopped meanwhile.
   */
  async untilElected(options?: {
    timeoutMs?: number | undefined;
    signal?: AbortSignal | undefined;
  }): Promise<LockHandle> {
    const wait = parseWait(options, 'untilElected');
    this.#assertOpen();
    wait.signal?.throwIfAborted();
    if (this.#term !== null && this.isLeader) return this.#term;
    const { name, candidateId } = this;
    const tooLate = (waitedMs: number): Promise<Error> =>
      lateError(this.#elections.requester, {
        ...{ name, candidateId, waitedMs },
        trouble: this.#candidacy?.trouble,
      });
    return await keepAlive(this.#waiters.wait(wait, tooLate));
  }

  /**
   * Leaves the election. A leader's term ends: its signal aborts (why `released`), its `onElected` has `drainMs`
   * (default 5,000) to end, `onDeposed` is called, and the next candidate leads. Work that takes longer keeps the seat
   * until it ends, or its lease is over, and its `onDeposed` is called then. A term that ends already, for whatever cause,
   * has no longer than that from now on. A grant that is on its way is given back.
   *
   * @returns Resolves when that is done, or `drainMs` is up; a store that does not answer may take `storeTimeoutMs` more.
   *   Also if `start` is called meanwhile.
   */
  async stop(options?: DrainOptions): Promise<void> {
    const drainMs = parseDrain('stop', options);
    this.#isWanted = false;
    if (this.#state !== 'stopped') {
      this.#state = 'stopping';
      this.#candidacy?.stop(drainMs);
      this.#waiters.fail(new DOMException('The candidate was stopped', 'AbortError'));
    }
    await keepAlive(this.#stops.wait(drainMs, this.#stopped, () => this.#callbacks.ended()));
  }

  /**
   * Ends the term as `stop` does, and goes to the end of the queue. Of a candidate that does not lead, nothing. If the
   * term ends already, waits for that, no longer than `drainMs`.
   */
  async resign(options?: DrainOptions): Promise<void> {
    const drainMs = parseDrain('resign', options);
    if (this.#candidacy !== undefined) await keepAlive(this.#candidacy.resign(drainMs));
  }

  /**
   * Ends the term as `stop` does, makes that candidate the next leader whatever its place, and goes to the end of the
   * queue: one atomic change, so that nobody is elected in between.
   *
   * @returns Whether that candidate got the seat. False, and nothing has changed, if this candidate does not lead, or that
   *   one does not wait, or its place has lapsed. Should it leave while the work of the term ends, or that take longer than
   *   `drainMs`, the first in line is next, and it is false, too.
   * @throws {@link StoreUnavailableError} if nobody could say whether that candidate waits.
   */
  async handOverTo(candidateId: string, options?: DrainOptions): Promise<boolean> {
    const to = parseCandidateId(candidateId);
    const drainMs = parseDrain('handOverTo', options);
    if (this.#candidacy === undefined) return false;
    return await keepAlive(this.#candidacy.handOver(to, drainMs));
  }

  /**
   * Who leads now, by a majority's read; `null` if nobody does. In the transition of a leader that fell silent it is
   * that leader, whose `expiresAt` has passed. Needs no start.
   *
   * @throws {@link StoreUnavailableError}, {@link CorruptLockDocumentError}, {@link ProviderClosedError}.
   */
  async leader(): Promise<LeaderInfo | null> {
    this.#assertOpen();
    return await keepAlive(readLeader(this.#elections.requester.context.collection, this.name));
  }

  /**
   * The candidates as a majority's read shows them: the leader, if there is one, and then the others in the order of the
   * queue. A candidate that died is shown until its lease is over. Needs no start.
   *
   * @throws {@link StoreUnavailableError}, {@link CorruptLockDocumentError}, {@link ProviderClosedError}.
   */
  async candidates(): Promise<readonly CandidateInfo[]> {
    this.#assertOpen();
    return await keepAlive(readCandidates(this.#elections.requester.context.collection, this.name));
  }

  /**
   * Who leads, from now on: first the present leader, or `null`, then each next one. Extensions are not shown, and
   * leaders that follow each other faster than they can be read may be left out: of those that the caller has not taken yet,
   * the last 100 are kept. Needs no start. Ends when `signal`
   * aborts or the provider closes; `return` ends it at once, also while a `next` is pending.
   */
  observe(options?: { signal?: AbortSignal | undefined }): AsyncIterable<LeaderInfo | null> {
    const signal = parseSignal(record(options, 'observe', { signal: true }).signal);
    this.#assertOpen();
    return this.#elections.leaderWatch.observe(this.name, signal, true);
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

  /** @internal How long a leader that falls silent is followed by nobody, in ms: its lease and the transition. */
  get storedLeaseMs(): number {
    return storedLeaseMs(this.#options.terms);
  }

  /** @internal Works in every term from now on. Returns what ends that; throws a `TypeError` for a name it has. */
  attach(worker: Worker): () => void {
    return this.#callbacks.attach(worker);
  }

  override toJSON(): object {
    const { name, candidateId, state } = this;
    return { name, candidateId, state, fencingToken: this.#term?.fencingToken ?? null };
  }

  /** `stop()`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  #begin(): void {
    const { requester, started, leftBehind } = this.#elections;
    const listener = {
      elected: (term: LockHandle) => {
        if (this.#state === 'campaigning') this.#state = 'leading';
        this.#term = term;
        this.#waiters.elected(term);
        this.emit('elected', term);
      },
      ending: () => {
        this.#term = null;
        if (this.#state === 'leading') this.#state = 'campaigning';
      },
      deposed: (term: LockHandle, why: WhyDeposed) => {
        this.emit('deposed', { term, why });
      },
      failed: (error: unknown) => {
        this.emit('error', error);
      },
    };
    const [options, callbacks] = [this.#options, this.#callbacks];
    const parts = { requester, name: this.name, options, callbacks, listener, leftBehind };
    this.#candidacy = new Candidacy(parts);
    this.#state = 'campaigning';
    started.add(this);
    this.#follow();
    this.#stopped = this.#candidacy.run().finally(() => {
      this.#ended();
    });
  }

  #ended(): void {
    // A caller that waits since the stop waits for the next start.
    if (this.#state !== 'stopping')
      this.#waiters.fail(new DOMException('The candidate was refused', 'AbortError'));
    this.#candidacy = undefined;
    this.#state = 'stopped';
    this.#elections.started.delete(this);
    this.#following?.abort();
    this.#following = undefined;
  }

  /** The leaders are read only where somebody listens. */
  #follow(): void {
    if (this.#candidacy === undefined || this.#following !== undefined) return;
    if (this.listenerCount('leader') === 0) return;
    this.#following = new AbortController();
    const leaders = this.#elections.leaderWatch.observe(this.name, this.#following.signal, false);
    void (async () => {
      for await (const leader of leaders) this.emit('leader', leader);
    })();
  }

  #assertOpen(): void {
    if (this.#elections.requester.context.closing.aborted) throw new ProviderClosedError(this.name);
  }
}
