import type { LockHandle } from '../lease/holding/lock-handle.js';
import { integer, leaseLength, oneOf, orElse, record, shortText, wrongType } from '../options/checks.js';
import { leaseTerms } from '../options/provider-options.js';
import type { LeaseTerms, Settings } from '../options/provider-options.js';
import type { KeysOf } from '../options/unknown-keys.js';
import { MAX_LEASE_MS } from '../protocol/lock-document.js';

/**
 * Why a term ended: by `stop`, by closing the provider; by `resign`, a revocation, a release of the term itself; by
 * `handOverTo`; or because the hold was lost.
 */
export type WhyDeposed = 'stopped' | 'resigned' | 'handed-over' | 'lost';

/** What follows when `onElected` fails. */
export type OnFailure = 'lead-on' | 'resign';

/** Options of one candidate of an election. All are checked once, when it is made. */
export interface LeaderElectionOptions {
  /** The name of the candidate, as `handOverTo` and observers use it: 1 to 1,024 bytes of UTF-8. Default: the process id. */
  candidateId?: string | undefined;
  /** What the leader tells everybody, for instance its address: at most 1,024 bytes of UTF-8, default empty. */
  value?: string | undefined;
  /** The lease of a term and of a place in the queue, in ms, instead of the provider's. */
  leaseMs?: number | undefined;
  /**
   * For how long after the lease of a leader that fell silent only the same candidate may return, for a new term, in
   * ms: an integer from 0, the default, to 24 h together with the lease.
   */
  transitionMs?: number | undefined;
  /**
   * What follows when `onElected` throws or rejects: `resign` (default) gives the term up, so that another candidate
   * leads, and queues again after a pause that grows from half a second to half a minute; `lead-on` goes on leading. It
   * is an `error` event in any case.
   */
  onFailure?: OnFailure | undefined;
  /**
   * Begins a term. It may do its work here, in a promise that it returns, until `term.signal` aborts: nothing waits for it but the end of the term.
   * Never called before the `onDeposed` of the term before has ended.
   */
  onElected?: ((term: LockHandle) => unknown) | undefined;
  /** Ends a term, once its `onElected` and the runs of its jobs have ended. The seat is given back when this has been called. */
  onDeposed?: ((term: LockHandle, why: WhyDeposed) => unknown) | undefined;
}

/** The options, checked. */
export interface ParsedElectionOptions {
  readonly candidateId: string;
  readonly value: string;
  readonly transitionMs: number;
  readonly terms: LeaseTerms;
  readonly onFailure: OnFailure;
  readonly onElected: NonNullable<LeaderElectionOptions['onElected']>;
  readonly onDeposed: NonNullable<LeaderElectionOptions['onDeposed']>;
}

const ELECTION_OPTIONS: KeysOf<LeaderElectionOptions> = {
  candidateId: true,
  value: true,
  leaseMs: true,
  transitionMs: true,
  onFailure: true,
  onElected: true,
  onDeposed: true,
};

export function parseElectionOptions(
  settings: Settings,
  processId: string,
  given?: LeaderElectionOptions,
): ParsedElectionOptions {
  const options = record(given, 'createLeaderElection', ELECTION_OPTIONS);
  const leaseMs = leaseLength('leaseMs', orElse(options.leaseMs, settings.leaseMs));
  const transitionMs = integer('transitionMs', orElse(options.transitionMs, 0), 0, MAX_LEASE_MS - leaseMs);
  return {
    candidateId: parseCandidateId(orElse(options.candidateId, processId)),
    value: shortText('value', orElse(options.value, '')),
    transitionMs,
    terms: electionTerms(settings, leaseMs, transitionMs),
    onFailure: oneOf('onFailure', orElse(options.onFailure, 'resign'), ['lead-on', 'resign']),
    onElected: callback('onElected', options.onElected),
    onDeposed: callback('onDeposed', options.onDeposed),
  };
}

export function parseCandidateId(given: unknown): string {
  const candidateId = shortText('candidateId', given);
  if (candidateId === '') throw new RangeError('candidateId must not be empty');
  return candidateId;
}

/** The document of an election outlives the transition, too, by no less than that of any lock outlives its lease. */
function electionTerms(settings: Settings, leaseMs: number, transitionMs: number): LeaseTerms {
  const terms = leaseTerms(settings, leaseMs);
  const retentionMs = Math.max(terms.retentionMs, 2 * (leaseMs + transitionMs)) + transitionMs;
  return { ...terms, retentionMs, transitionMs };
}

function callback<A extends unknown[]>(
  option: string,
  given: ((...args: A) => unknown) | undefined,
): (...args: A) => unknown {
  if (given === undefined) return () => undefined;
  if (typeof given !== 'function') throw wrongType(option, 'a function', given);
  return given;
}
