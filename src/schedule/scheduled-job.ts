import type { EventEmitter } from 'eventemitter3';
import { parseElectionOptions } from '../election/election-options.js';
import { LeaderElection } from '../election/leader-election.js';
import type { Elections } from '../election/leader-election.js';
import { ProviderClosedError } from '../errors.js';
import { IsolatedEmitter } from '../events.js';
import { parseDrain } from '../options/admin-options.js';
import { wrongType } from '../options/checks.js';
import type { LockHandle } from '../lease/lock-handle.js';
import type { ScheduledJobEvents } from './job-events.js';
import { JobLedger } from './job-ledger.js';
import type { ParsedJobOptions } from './job-options.js';
import { JobTerm } from './job-term.js';

/**
 * A job that one process of many runs: the leader of its election, at the instants of its schedule.
 *
 * Each run is claimed under its instant in the document of the election, by the server's clock, before it starts. So an
 * instant starts at most once in the fleet, whatever the clocks of the processes say and whoever leads; and within the
 * bounds of the clocks no two runs of one job go on at once. A run that a crash ends is not repeated.
 */
export class ScheduledJob extends IsolatedEmitter<ScheduledJobEvents> implements AsyncDisposable {
  /** As it was given to `createScheduledJob`. */
  readonly name: string;
  /** @internal */
  readonly election: LeaderElection;
  readonly #elections: Elections;
  readonly #options: ParsedJobOptions;
  readonly #hasOwnElection: boolean;
  readonly #ledger: JobLedger;
  #detach: () => void = () => undefined;
  /** The last one, which may be over. */
  #term: JobTerm | undefined;
  #ending = new AbortController();
  #stopping: Promise<void> | undefined;

  /** @internal */
  constructor(
    elections: Elections,
    name: string,
    options: ParsedJobOptions,
    shared: LeaderElection | undefined,
  ) {
    super();
    this.name = name;
    this.#elections = elections;
    this.#options = options;
    this.#hasOwnElection = shared === undefined;
    this.election = shared === undefined ? ownElection(elections, name) : checked(shared, elections);
    this.#ledger = new JobLedger(elections.requester.context, this.election.name, name);
  }

  /** When this process runs it next, in the server's time; `null` while it does not lead, and if that is not known. */
  get nextFireAt(): Date | null {
    const nextMs = this.#term?.nextMs ?? null;
    return nextMs === null ? null : new Date(nextMs);
  }

  /**
   * Runs the job from now on whenever this process leads; starts the election, also a shared one. May be called again
   * after a `stop`, and while started, which changes nothing.
   *
   * @returns Resolves when this process is a candidate; if a run of an earlier term goes on, that is after its end.
   * @throws What the start of the election throws; the job is stopped then. `TypeError` if the shared election has a job
   *   of this name.
   */
  async start(): Promise<void> {
    while (this.#stopping !== undefined) await this.#stopping;
    const { jobs, requester } = this.#elections;
    if (requester.context.closing.aborted) throw new ProviderClosedError(this.name);
    if (!jobs.has(this)) {
      this.#ending = new AbortController();
      this.#detach = this.election.attach({ name: this.name, lead: (term) => this.#lead(term) });
      jobs.add(this);
    }
    try {
      await this.election.start();
    } catch (error) {
      // A shared election may have been in a term.
      await this.stop({ drainMs: 0 });
      throw error;
    }
  }

  /**
   * Begins no other run. The one that goes on has `drainMs` (default 5,000) to end; then its signal aborts, and it has as
   * long again. If it goes on even then, the seat of the job's own election stays until its lease is over. A shared election
   * goes on.
   */
  async stop(options?: { drainMs?: number | undefined }): Promise<void> {
    const drainMs = parseDrain(options);
    if (!this.#elections.jobs.has(this)) return;
    this.#stopping ??= this.#stop(drainMs).finally(() => {
      this.#stopping = undefined;
    });
    await this.#stopping;
  }

  /** `stop()`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  async #stop(drainMs: number): Promise<void> {
    this.#detach();
    this.#ending.abort();
    await this.#term?.drain(drainMs);
    // Its run has ended, or had its time.
    if (this.#hasOwnElection) await this.election.stop({ drainMs: 0 });
    this.#elections.jobs.delete(this);
  }

  async #lead(term: LockHandle): Promise<void> {
    this.#term = new JobTerm(
      {
        options: this.#options,
        ledger: this.#ledger,
        clock: this.#elections.requester.context.clock,
        tell: (event, ...payload) => {
          this.emit(event, ...(payload as EventEmitter.EventArgs<ScheduledJobEvents, typeof event>));
        },
        stopping: this.#ending.signal,
      },
      term,
    );
    await this.#term.done;
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
