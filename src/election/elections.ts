import type { DrainOptions } from '../options/admin-options.js';
import type { Requester } from '../primitives/requester.js';
import type { LeaderWatch } from './leader-watch.js';

/** A candidate or a job between its start and its stop. */
export interface Started {
  stop(options: DrainOptions): Promise<void>;
}

/** What elections and jobs need of their provider. */
export interface Elections {
  readonly requester: Requester;
  readonly leaderWatch: LeaderWatch;
  /** The provider stops them when it closes. */
  readonly started: Set<Started>;
  /** The seats of work that outlived its time to end: the provider waits for them as for what is held. */
  readonly leftBehind: Set<Promise<unknown>>;
}
