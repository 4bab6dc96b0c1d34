import { CollectedHandles } from '../collected-handles.js';
import type { HandleHolds } from '../lease/holding/lease-handle.js';
import type { QuorumHold } from './quorum-hold.js';

const forgottenHandles = new CollectedHandles<QuorumHold>((hold) => {
  hold.abandon();
});

/** The operations by which the handle of a quorum hold uses its hold. */
export const quorumOwner: HandleHolds<QuorumHold> = {
  databaseName: undefined,
  confirm: (hold) => hold.confirm(),
  release: (hold) => hold.release(),
  track: (handle, hold) => {
    forgottenHandles.track(handle, hold, hold.chance);
  },
  untrack: (handle) => {
    forgottenHandles.untrack(handle);
  },
};
