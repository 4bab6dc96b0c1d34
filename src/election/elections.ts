import type { DrainOptions } from '../options/admin-options.js';
import type { Requester } from '../primitives/requester.js';
import type { LeaderWatch } from './leader-watch.js';

/** A candidate or a job between its start and its stop. */
export interface Started {
  stop(options: DrainOptions): Promise<void>;
}

/** The parts that elections and jobs get from their provider. */
export interface Elections {
  readonly requester: Requester;
  readonly leaderWatch: LeaderWatch;
  /** The provider stops them when it closes. */
  readonly started: Set<Started>;
  /**
   * Settle when a seat has been given back whose work outlived its drain. The provider waits for them as it does for
   * holds.
   */
  readonly leftBehind: Set<Promise<unknown>>;
}
