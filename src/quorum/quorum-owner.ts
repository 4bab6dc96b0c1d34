import type { HandleHolds } from '../lease/holding/lease-handle.js';
import type { QuorumHold } from './quorum-hold.js';

/**
 * One registry for all providers of the process. Node 20 stops cleaning up every registry for ever if one registry is
 * itself collected just before its turn (`Holds` has one, too).
 */
const forgottenHandles = new FinalizationRegistry<QuorumHold>((hold) => {
  hold.abandon();
});

/** How the handle of a quorum hold reaches its hold. */
export const quorumOwner: HandleHolds<QuorumHold> = {
  databaseName: undefined,
  confirm: (hold) => hold.confirm(),
  release: (hold) => hold.release(),
  track: (handle, hold) => {
    forgottenHandles.register(handle, hold, handle);
  },
  untrack: (handle) => {
    forgottenHandles.unregister(handle);
  },
};
