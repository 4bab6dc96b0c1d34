import { STORED_WAITERS, bind, equal, filter } from '../expressions.js';
import type { Fields } from '../expressions.js';
import type { KindRules } from '../kind-rules.js';
import { leasesProjection, readLeases } from './extension.js';
import type { LeasesRead } from './extension.js';

export interface Poll extends LeasesRead {
  /** The attempts of this process in the queue, in the order of the queue. */
  readonly waiting: readonly string[];
  /** The place of the first attempt of this process: 0 for the head, −1 if none waits. */
  readonly place: number;
  readonly waiters: number;
  /** Changes with every grant (`readMark`). */
  readonly mark: string;
}

/**
 * The two fields that make the mark of a lock (`readMark`). Reading them costs the server half as much as a poll
 * (`pollProjection`), measured with a hundred waiters.
 */
export const MARK_PROJECTION: Fields = { fence: 1, limit: 1 };

/**
 * The projection of a poll. Beside the live leases of this process, it shows which of its attempts wait, and the place
 * of the first of them.
 */
export const pollProjection = (kinds: readonly KindRules[], process: string): Fields => ({
  ...leasesProjection(kinds, process),
  ...MARK_PROJECTION,
  queue: bind(
    { all: STORED_WAITERS },
    {
      waiting: { $map: { input: filter('$$all', equal('$$this.v.process', process)), in: '$$this.k' } },
      place: { $indexOfArray: ['$$all.v.process', process] },
      waiters: { $size: '$$all' },
    },
  ),
});

export function readPoll(document: Readonly<Record<string, unknown>>): Poll {
  const { queue } = document as { queue: Pick<Poll, 'waiting' | 'place' | 'waiters'> };
  return { ...readLeases(document), ...queue, mark: readMark(document) };
}

/** The mark of a lock changes with every grant, and whenever a smaller limit removes a waiter. */
export const readMark = ({ fence, limit }: Readonly<Record<string, unknown>>): string =>
  `${String(fence)} ${String(limit)}`;
