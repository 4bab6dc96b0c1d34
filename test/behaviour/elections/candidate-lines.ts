import type { LockProviderOptions, WhyDeposed } from '../../../src/index.js';

/** The one argument of a process of candidates. */
export interface CandidatesTask {
  readonly uri: string;
  readonly database: string;
  readonly election: string;
  readonly candidateIds: readonly string[];
  readonly transitionMs: number;
  /** The longest that the work of a term takes. */
  readonly workMs: number;
  readonly seed: number;
  readonly options: LockProviderOptions;
}

/** The orders to such a process, one line of JSON each. */
export type Order =
  | { readonly do: 'start' | 'resign'; readonly candidate: string }
  | { readonly do: 'stop'; readonly candidate: string; readonly drainMs: number }
  | { readonly do: 'hand over'; readonly candidate: string; readonly to: string }
  | { readonly do: 'say who leads' }
  /** Closes everything, so that the process ends by itself. */
  | { readonly do: 'end' };

interface OfTerm {
  readonly candidate: string;
  readonly token: number;
}

/**
 * The reports of such a process, one line of JSON each, written before its next step. `atNs` is CLOCK_MONOTONIC, which
 * all processes of a machine share. Both callbacks report their beginning and their end.
 */
export type Line = { readonly atNs: string } & (
  | { readonly says: 'ready' }
  /** `untilNs`: how long the term can be relied on, unless it ends earlier. */
  | ({ readonly says: 'elected' | 'promised'; readonly untilNs: string } & OfTerm)
  | ({ readonly says: 'worked' | 'parted' } & OfTerm)
  | ({ readonly says: 'deposed'; readonly why: WhyDeposed } & OfTerm)
  /** The signal of the term aborted. */
  | ({ readonly says: 'signalled'; readonly why: string } & OfTerm)
  | { readonly says: 'handed over'; readonly candidate: string; readonly to: string }
  | { readonly says: 'leads'; readonly candidates: readonly string[] }
  /** Something that must never happen. */
  | { readonly says: 'complains'; readonly what: string }
);

/** The collection whose one document records every term, fenced by its token. */
export const LOG = 'terms';

export interface TermLog {
  readonly _id: string;
  readonly terms: readonly { readonly candidate: string; readonly token: number }[];
}
