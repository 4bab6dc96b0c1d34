import type { LockProviderOptions, WhyDeposed } from '../../../src/index.js';

/** What a process of candidates is started with, as its one argument. */
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

/** What it is told, one line of JSON each. */
export type Order =
  | { readonly do: 'start' | 'resign'; readonly candidate: string }
  | { readonly do: 'stop'; readonly candidate: string; readonly drainMs: number }
  | { readonly do: 'hand over'; readonly candidate: string; readonly to: string }
  | { readonly do: 'say who leads' }
  /** Closes everything, and then has nothing left to do. */
  | { readonly do: 'end' };

interface OfTerm {
  readonly candidate: string;
  readonly token: number;
}

/**
 * What it tells, one line of JSON each, before the step after it. `atNs` is CLOCK_MONOTONIC, which all processes of a
 * machine share. The two callbacks tell when they begin and when they end.
 */
export type Line = { readonly atNs: string } & (
  | { readonly says: 'ready' }
  /** `untilNs`: until then the term promises to be relied on, unless it ends before. */
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

export type Says = Line['says'];

/** One document in which every term is written down, fenced by its token. */
export const LOG = 'terms';

export interface TermLog {
  readonly _id: string;
  readonly terms: readonly { readonly candidate: string; readonly token: number }[];
}
