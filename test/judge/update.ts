import type { Operation } from '../../src/protocol/operation.js';
import type { Version } from '../../src/testing/judge/lock-version.js';

/** One update: the version before it, its operations, the server's time of it, and the version after it. */
export interface Update {
  readonly before: Version;
  readonly operations: readonly Operation[];
  readonly nowMs: number;
  readonly after: Version;
}
