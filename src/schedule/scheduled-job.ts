// Folder `schedule`: the leader of an election claims each instant of a schedule in the document of the election, and
// runs the job for it.

import type { EventEmitter } from 'eventemitter3';
import { parseElectionOptions } from '../election/election-options.js';
import { LeaderElection } from '../election/leader-election.js';
import type { Elections } from '../election/elections.js';
import { ProviderClosedError } from '../errors.js';
import { IsolatedEmitter } from '../isolated-emitter.js';
import { keepAlive } from '../keep-alive.js';
import { parseDrain } from '../options/admin-options.js';
import type { DrainOptions } from '../options/admin-options.js';
import { wrongType } from '../options/checks.js';
import type { TermHandle } from '../election/term-handle.js';
import { jobWarnings } from './job-events.js';
import type { ScheduledJobEvents } from './job-events.js';
import { JobLedger } from './job-ledger.js';
import type { ParsedJobOptions } from './job-options.js';
import { jobReads } from './job-reads.js';
import { describeJob, readJob } from './job-status.js';
import type { JobStatus } from './job-status.js';
import { JobTerm } from './job-term.js';
import { KnownSeries } from './known-series.js';
import { RunRequest } from './run-request.js';

/** One activity of the job: the time from a start to the end of the stop that follows. */
interface Activity {
  readonly ending: AbortController;
  readonly detach: () => void;
  /** Resolves when the activity is over; `undefined` until `stop` is called. */
  stopping: Promise<void> | undefined;
}

/**
 * A job that many processes may start: the leader of its election runs the job, at the instants of its schedule.
 *
 * Before a run starts, the leader claims the instant of the run in the document of the election, by the server's clock.
 * So at most one process starts the run of an instant, whatever the clocks of the processes say and whichever process
 * leads. No two runs of one job overlap, as long as the clocks keep to the documented bounds and each run ends when its
 * signal aborts. A run that a crash ends is not repeated.
 */
export class ScheduledJob extends IsolatedEmitter<ScheduledJobEvents> implements AsyncDisposable {
  /** The name that was given to `createScheduledJob`. */
  readonly name: string;
  /** @internal */
  readonly election: LeaderElection;
  readonly #elections: Elections;
  readonly #options: ParsedJobOptions;
  readonly #hasOwnElection: boolean;
  readonly #ledger: JobLedger;
  readonly #series: KnownSeries;
  #activity: Activity | undefined;
  /** How often `stop` was called. A `start` that waits has no effect if this number has changed meanwhile. */
  #stops = 0;
  /** The last term, which may be over. */
  #term: JobTerm | undefined;

  /** @internal */
  constructor(
    elections: Elections,
    name: string,
    options: ParsedJobOptions,
    shared: LeaderElection | undefined,
  ) {
    super(jobWarnings(name));
    this.name = name;
    this.#elections = elections;
    this.#options = options;
    this.#hasOwnElection = shared === undefined;
    this.election = shared === undefined ? ownElection(elections, name) : checked(shared, elections);
    const { context } = elections.requester;
    const reads = jobReads(this.election, context);
    this.#ledger = new JobLedger(context, this.election.name, name, reads);
    const { schedule } = options;
    this.#series = new KnownSeries({ schedule, ledger: this.#ledger, clock: context.clock });
  }

  /**
   * The next instant of the schedule, by the server's clock, as far as this process knows. Sends nothing. `null` while
   * the job or its election is stopped, if there is no next instant, or while this process does not know the next
   * instant. Before the first claim of a periodic job, and always with a fixed delay, only the leader knows the next
   * instant. During a run with a fixed delay, the leader does not know it either.
   */
  get nextFireAt(): Date | null {
    if (this.#activity?.ending.signal.aborted !== false) return null;
    if (this.election.state === 'stopped') return null;
    const nextMs = this.#term?.nextMs ?? this.#series.nextMs();
    return nextMs === null ? null : new Date(nextMs);
  }

  /**
   * Reads what the job is doing and has done, with read concern majority, and computes the next instant by the schedule
   * of this object. Works in any process, also in one that has not started the job.
   *
   * @throws {@link StoreUnavailableError}, {@link UnsupportedServerError}, {@link CorruptLockDocumentError},
   *   {@link ProviderClosedError}.
   */
  async status(): Promise<JobStatus> {
    this.#assertOpen();
    const { collection } = this.#elections.requester.context;
    const read = await keepAlive(readJob(collection, this.election.name, this.name));
    const { time } = this.#ledger;
    if (read !== undefined) time.learn(read.stored.now.getTime(), read.sentAtMs);
    return describeJob(this.#options.schedule, read?.stored, time.nowOrWallMs());
  }

  /**
   * Asks the leader, from any process, for a run out of turn. The run is claimed like an instant, so it starts at most
   * once, under this leader or a later one. If a run is going on, the requested run starts after it. All requests made
   * until the requested run is claimed get one run together. The instants of a fixed rate or a cron expression stay as
   * they are; a fixed delay counts from the end of the requested run. A leader that runs the job through this object
   * learns of the request as soon as the store has answered. Any other leader learns of the request by its change
   * stream if one is open, and otherwise at its next extension, after at most a third of the lease.
   *
   * @returns Resolves when a leader has claimed the run, which starts right then. Does not wait for the end of the run.
   *   If the leader's term ends or the leader's job is stopped at that moment, the run does not start, and is reported
   *   as `missed`.
   * @throws {@link JobNotStartedError} if no leader claims the run within two leases of the election (each with its
   *   transition) plus `storeTimeoutMs`, and at once if no election of this name is stored; no leader claims the run
   *   later, unless another `runNow` requested it, too.
   *   {@link StoreUnavailableError}; if its `outcomeKnown` is false, the run may still start. {@link
   *   UnsupportedServerError}, {@link CorruptLockDocumentError}, {@link ProviderClosedError}.
   */
  async runNow(): Promise<void> {
    this.#assertOpen();
    const { context } = this.#elections.requester;
    const request = new RunRequest({
      context,
      electionName: this.election.name,
      job: this.name,
      ledger: this.#ledger,
      boundMs: 2 * this.election.storedLeaseMs + context.settings.storeTimeoutMs,
      stored: () => this.#term?.called(),
    });
    await keepAlive(request.run());
  }

  /**
   * From now on, runs the job whenever this process leads. Starts the election, also a shared one. May be called again,
   * also while a `stop` is going on. If the job is already started, the call changes nothing, except that it starts an
   * election that was stopped.
   *
   * @returns Resolves when this process is queued as a candidate, or leads, and then, except with a fixed delay, has
   *   tried once to read the last claim. If work of an earlier term is running, such as a run, the process is queued
   *   after the end of that work. Also resolves when `stop` is called before that.
   * @throws The errors of `LeaderElection.start`; the job is then stopped. `TypeError` if the shared election has
   *   another job of this name.
   */
  async start(): Promise<void> {
    this.#assertOpen();
    await keepAlive(this.#start());
  }

  async #start(): Promise<void> {
    const stops = this.#stops;
    while (this.#activity?.stopping !== undefined) await this.#activity.stopping;
    this.#assertOpen();
    // If `stop` was called after this `start`, this call starts nothing. A later `start` waits by itself.
    if (stops !== this.#stops) return;
    const activity = (this.#activity ??= this.#begin());
    try {
      await this.election.start();
    } catch (error) {
      // A shared election may be in a term already, so the job may be running, and must be stopped.
      if (this.#activity === activity) await this.stop({ drainMs: 0 });
      throw error;
    }
    if (this.#options.schedule.isSeries) await this.#series.read();
  }

  /**
   * From now on, no run starts. The signal of the present run aborts, and the run has `drainMs` (default 5,000) to end.
   * Meanwhile the job repeats a claim that the store has not answered. If the run takes longer than `drainMs`, the
   * seat of the job's own election stays taken until the run ends or the lease is over. A shared election continues.
   *
   * @returns Resolves when the job is stopped or `drainMs` is up; if the store does not answer, up to `storeTimeoutMs`
   *   later. A `start` that is called meanwhile takes effect after the stop.
   */
  async stop(options?: DrainOptions): Promise<void> {
    const drainMs = parseDrain('stop', options);
    this.#stops += 1;
    if (this.#activity !== undefined) await keepAlive(this.#stop(this.#activity, drainMs));
  }

  override toJSON(): object {
    const { name, nextFireAt } = this;
    return { name, nextFireAt };
  }

  /** Same as `stop()`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  #begin(): Activity {
    const ending = new AbortController();
    const lead = (term: TermHandle): Promise<unknown> => this.#lead(term, ending.signal);
    const detach = this.election.attach({ name: this.name, lead });
    this.#elections.started.add(this);
    if (this.#options.schedule.isSeries) void this.#series.learn(this.election.storedLeaseMs, ending.signal);
    return { ending, detach, stopping: undefined };
  }

  async #stop(activity: Activity, drainMs: number): Promise<void> {
    activity.detach();
    activity.ending.abort(new DOMException('The job was stopped', 'AbortError'));
    const stopped = this.#drained(activity, drainMs);
    // If `stop` is called several times, the call that gives the run the least time ends the activity.
    activity.stopping =
      activity.stopping === undefined ? stopped : Promise.race([activity.stopping, stopped]);
    await stopped;
  }

  async #drained(activity: Activity, drainMs: number): Promise<void> {
    // The election and the present run are stopped at the same time, because `drainMs` bounds both together.
    const stopped = this.#hasOwnElection ? this.election.stop({ drainMs }) : Promise.resolve();
    await this.#term?.drain(drainMs);
    await stopped;
    if (this.#activity !== activity) return;
    this.#activity = undefined;
    this.#elections.started.delete(this);
  }

  async #lead(handle: TermHandle, stopping: AbortSignal): Promise<void> {
    const { clock, observation } = this.#elections.requester.context;
    const term = new JobTerm(
      {
        options: this.#options,
        ledger: this.#ledger,
        clock,
        observation,
        jobName: this.name,
        tell: (event, ...payload) => {
          this.emit(event, ...(payload as EventEmitter.EventArgs<ScheduledJobEvents, typeof event>));
        },
        stopping,
        // A run that hangs has had its time to end, so the term ends without a drain.
        resign: () => void this.election.resign({ drainMs: 0 }),
      },
      handle,
    );
    this.#term = term;
    const forget = handle.onCalled(() => {
      term.called();
    });
    await term.done;
    forget();
  }

  #assertOpen(): void {
    if (this.#elections.requester.context.closing.aborted) throw new ProviderClosedError(this.name);
  }
}

const ownElection = (elections: Elections, name: string): LeaderElection => {
  const { settings, process } = elections.requester.context;
  return new LeaderElection(elections, name, parseElectionOptions(settings, process));
};

function checked(election: LeaderElection, elections: Elections): LeaderElection {
  const isOwn = election instanceof LeaderElection && election.isOneOf(elections);
  if (!isOwn) throw wrongType('election', 'an election of this provider', election);
  return election;
}
