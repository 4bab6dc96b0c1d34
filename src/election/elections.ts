import type { DrainOptions } from '../options/admin-options.js';
import type { Requester } from '../primitives/requester.js';
import type { LeaderWatch } from './leader-watch.js';

/** A candidate or a job between its start and its stop. */
export interface Started {
  stop(options: DrainOptions): Promise<void>;
}

export interface Elections {
  readonly requester: Requester;
  readonly leaderWatch: LeaderWatch;
  /** The started candidates and jobs. The provider stops all of them when it closes. */
  readonly started: Set<Started>;
  /**
   * One promise for each term whose work outlives its drain. The promise resolves when the work has ended and the seat
   * is given back. If the store does not answer, the promise resolves `storeTimeoutMs` after the end of the work. A
   * provider that closes waits for these promises as it waits for holds.
   */
  readonly leftBehind: Set<Promise<unknown>>;
}
