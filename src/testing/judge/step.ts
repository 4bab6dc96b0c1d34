import type { Lease } from '../../protocol/lock-document.js';
import type { Version } from './lock-version.js';

/** The invariants of docs/protocol.md that one version of a lock document, or its change to the next one, can break. */
export type Invariant = 'S1' | 'S3' | 'S5' | 'L1' | 'L2' | 'L3';

/** One version of a lock's document and the next one, without the operations between them. */
export interface Step {
  readonly before: Version;
  readonly after: Version;
  /** The words in `wake` that the update wrote. */
  readonly wake: string;
  /** The latest server time of the update. A lease that expires later was not over. */
  readonly overBeforeMs: number;
  /** The earliest server time of the update. A lease that expired at this time or earlier was over. */
  readonly earliestMs: number;
  /** The highest token given or reserved under this name before the version `after`. */
  readonly lastToken: number;
  /** `purgeAt` in both versions, in ms. `before` is 0 if there was no document. */
  readonly purgeAtMs: { readonly before: number; readonly after: number };
}

export interface Wrong {
  readonly invariant: Invariant;
  readonly what: string;
}

export type Rule = (step: Step) => Iterable<Wrong>;

export const wrong = (invariant: Invariant, what: string): Wrong => ({ invariant, what });

/** The leases that got a new token, by a grant or by a change of mode. */
export const givenIn = ({ before, after }: Pick<Step, 'before' | 'after'>): readonly Lease[] =>
  after.leases.filter(({ id, token }) => leaseOf(before, id)?.token !== token);

export const leaseOf = ({ leases }: Version, id: string): Lease | undefined =>
  leases.find((lease) => lease.id === id);

export const newcomersIn = ({ before, after }: Step): readonly Lease[] =>
  after.leases.filter(({ id }) => leaseOf(before, id) === undefined);

/** For each lease that is in both versions, its record in both. */
export const stayingIn = ({ before, after }: Step): readonly (readonly [Lease, Lease])[] =>
  before.leases.flatMap((was) => {
    const is = leaseOf(after, was.id);
    return is === undefined ? [] : [[was, is] as const];
  });
