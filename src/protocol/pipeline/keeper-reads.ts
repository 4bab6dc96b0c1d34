import type { Fields } from '../expressions.js';
import type { KindRules } from '../kind-rules.js';
import { isKeeperTold } from '../wake.js';
import { keptLeasesProjection, readLeases } from './extension.js';
import type { LeasesRead } from './extension.js';

/**
 * The projection of the reads by which a keeper learns whether others wait (`KeeperWatch`). The projection also
 * searches `wake`, because a try that fails leaves no waiter, only a word in `wake` until the next update.
 */
export const keeperProjection = (kinds: readonly KindRules[], process: string): Fields => ({
  ...keptLeasesProjection(kinds, process),
  isTold: isKeeperTold(process),
});

/** Like `readLeases`, but `othersWait` is also true if the last update has told this process to give a seat back. */
export function readForKeeper(document: Readonly<Record<string, unknown>>): LeasesRead {
  const read = readLeases(document);
  return { ...read, othersWait: read.othersWait || document['isTold'] === true };
}
