import type { LockHandle } from '../lease/holding/lock-handle.js';
import {
  integer,
  leaseLength,
  oneOf,
  orElse,
  knownOptions,
  shortText,
  wrongType,
} from '../options/checks.js';
import { leaseDurations } from '../options/provider-options.js';
import type { LeaseDurations, Settings } from '../options/provider-options.js';
import type { KeysOf } from '../options/unknown-keys.js';
import { MAX_LEASE_MS } from '../protocol/lock-document.js';

/**
 * Why a term ended.
 *
 * - `stopped`: by `stop`, or because the provider was closed.
 * - `resigned`: by `resign`, by a revocation without `force`, by a release of the term itself, because `onElected`
 *   failed, or because a run of a job hung (`maxRunMs`).
 * - `handed-over`: by `handOverTo`, also if another candidate than the named one leads next.
 * - `lost`: because the hold was lost, for example by a revocation with `force`.
 */
export type WhyDeposed = 'stopped' | 'resigned' | 'handed-over' | 'lost';

/** The reaction of a candidate to a failure of its `onElected`. */
export type OnFailure = 'lead-on' | 'resign';

/** Options of one candidate of an election. All are checked once, when the candidate is created. */
export interface LeaderElectionOptions {
  /**
   * The name of the candidate, which `handOverTo` takes and other processes read: 1 to 1,024 bytes of UTF-8. Default:
   * the process id.
   */
  candidateId?: string | undefined;
  /** A text that the leader publishes, for example its address: at most 1,024 bytes of UTF-8, default empty. */
  value?: string | undefined;
  /**
   * The lease of a term and of a place in the queue, in ms: an integer, 100 ms to 24 h. Default: the `leaseMs` of the
   * provider.
   */
  leaseMs?: number | undefined;
  /**
   * The transition of the election, in ms: for this time after the term of a silent leader has ended (`leaseMs` after
   * its last extension), only a candidate with the same `candidateId` may lead, in a new term. An integer from 0
   * (default). The sum of `leaseMs` and `transitionMs` is at most 24 h.
   */
  transitionMs?: number | undefined;
  /**
   * The reaction of the candidate when `onElected` throws or rejects. `resign` (default): the candidate gives up the
   * term, so that another candidate can lead, and queues again after a pause. The pause grows with each such term in a
   * row, up to half a minute. `lead-on`: the candidate continues to lead. In both cases an `error` event is emitted. It
   * is no failure if `onElected` throws the reason of the aborted `term.signal`.
   */
  onFailure?: OnFailure | undefined;
  /**
   * Called at the beginning of a term. The function may return a promise for the work of the term. This work has to end
   * when `term.signal` aborts. The term goes on after the promise is fulfilled. `onDeposed` and the next request of the
   * candidate wait until the promise settles. The function is never called before the `onDeposed` of the previous
   * term has ended.
   */
  onElected?: ((term: LockHandle) => unknown) | undefined;
  /**
   * Called at the end of a term, when `onElected` and the runs of the jobs have ended. A seat that is not lost is given
   * back right after the call, without waiting for a promise that the function returns.
   */
  onDeposed?: ((term: LockHandle, why: WhyDeposed) => unknown) | undefined;
}

export interface ParsedElectionOptions {
  readonly candidateId: string;
  readonly value: string;
  readonly transitionMs: number;
  readonly durations: LeaseDurations;
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
  const options = knownOptions(given, 'createLeaderElection', ELECTION_OPTIONS);
  const leaseMs = leaseLength('leaseMs', orElse(options.leaseMs, settings.leaseMs));
  const transitionMs = integer('transitionMs', orElse(options.transitionMs, 0), 0, MAX_LEASE_MS - leaseMs);
  return {
    candidateId: parseCandidateId(orElse(options.candidateId, processId)),
    value: shortText('value', orElse(options.value, '')),
    transitionMs,
    durations: electionDurations(settings, leaseMs, transitionMs),
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

/**
 * A request or an extension keeps the document for at least `leaseMs` plus the retention. The stored lease of a leader
 * is longer by `transitionMs`, so this function adds `transitionMs` to the retention. After the transition of the
 * election, the document is kept for at least the usual retention, and for at least twice the sum of `leaseMs` and
 * `transitionMs`.
 */
function electionDurations(settings: Settings, leaseMs: number, transitionMs: number): LeaseDurations {
  const durations = leaseDurations(settings, leaseMs);
  const retentionMs = Math.max(durations.retentionMs, 2 * (leaseMs + transitionMs)) + transitionMs;
  return { ...durations, retentionMs, transitionMs };
}

function callback<A extends unknown[]>(
  option: string,
  given: ((...args: A) => unknown) | undefined,
): (...args: A) => unknown {
  if (given === undefined) return () => undefined;
  if (typeof given !== 'function') throw wrongType(option, 'a function', given);
  return given;
}
