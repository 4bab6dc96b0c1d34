import type { HandleHolds } from '../lease/holding/lease-handle.js';
import type { QuorumHold } from './quorum-hold.js';

/**
 * One registry, shared by all providers of this program, so that it is never collected. In Node 20, if a registry is
 * collected just before its callbacks are due, no registry calls its callback any more (seen with 20.20).
 */
const forgottenHandles = new FinalizationRegistry<QuorumHold>((hold) => {
  hold.abandon();
});

/** The operations by which the handle of a quorum hold uses its hold. */
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
