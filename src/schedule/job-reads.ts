import { endOfTurn } from '../clock.js';
import type { Clock } from '../clock.js';
import type { LeaderElection } from '../election/leader-election.js';
import { electionRules } from '../protocol/kinds/election-rules.js';
import { NOW, hasType, when } from '../protocol/expressions.js';
import type { Fields } from '../protocol/expressions.js';
import { wellFormedProjection } from '../protocol/pipeline/verdict.js';
import { PENDING_CALLS } from '../protocol/jobs/job-calls.js';
import type { StoredCall } from '../protocol/jobs/job-calls.js';
import type { StoredClaim } from '../protocol/jobs/job-claims.js';
import type { LockCollection } from '../store/lock-collection.js';

/** The stored claims and calls of all jobs of one election. */
export interface JobsRead {
  readonly nowMs: number;
  readonly sentAtMs: number;
  readonly claims: ReadonlyMap<string, StoredClaim>;
  /** For each job with a pending call: the number of that call. */
  readonly calls: ReadonlyMap<string, number>;
}

interface Stored {
  readonly now: Date;
  readonly isWellFormed: boolean;
  readonly claims: readonly StoredClaim[];
  readonly calls: readonly StoredCall[];
}

interface Reading {
  readonly collection: LockCollection;
  readonly clock: Clock;
}

const PROJECTION: Fields = {
  now: NOW,
  claims: when(hasType('$claims', 'array'), '$claims', []),
  calls: PENDING_CALLS,
  ...wellFormedProjection(electionRules),
};

/**
 * Reads what is stored about the jobs of one election. A job reads when it starts. All jobs of the election read at the
 * beginning of a term, and when a run out of turn of one of them is requested. One command serves all jobs that read in
 * one turn of the event loop. Each read shows the claims of all jobs, so one read for each job would cost the square of
 * the number of jobs.
 */
export class JobReads {
  readonly #collection: LockCollection;
  readonly #clock: Clock;
  readonly #electionName: string;
  #next: Promise<JobsRead | null | undefined> | undefined;

  constructor({ collection, clock }: Reading, electionName: string) {
    this.#collection = collection;
    this.#clock = clock;
    this.#electionName = electionName;
  }

  /**
   * Resolves with `null` if there is no document. Resolves with `undefined` if the read fails, or if the document is
   * corrupt or of another kind.
   */
  read(): Promise<JobsRead | null | undefined> {
    this.#next ??= endOfTurn(this.#clock).then(() => {
      this.#next = undefined;
      return this.#read();
    });
    return this.#next;
  }

  async #read(): Promise<JobsRead | null | undefined> {
    const outcome = await this.#collection.read([this.#electionName], PROJECTION, 'majority');
    if (outcome.type !== 'done') return undefined;
    const [document] = outcome.value as readonly unknown[] as readonly Stored[];
    if (document === undefined) return null;
    if (!document.isWellFormed) return undefined;
    return {
      nowMs: document.now.getTime(),
      sentAtMs: outcome.sentAt.ms,
      claims: new Map(document.claims.map((claim) => [claim.job, claim])),
      calls: new Map(document.calls.map(({ job, asked }) => [job, asked])),
    };
  }
}

const readsOf = new WeakMap<LeaderElection, JobReads>();

/** The reads that all jobs of one election share. */
export function jobReads(election: LeaderElection, reading: Reading): JobReads {
  const known = readsOf.get(election);
  if (known !== undefined) return known;
  const made = new JobReads(reading, election.name);
  readsOf.set(election, made);
  return made;
}
