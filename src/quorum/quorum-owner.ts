import { CollectedHandles } from '../collected-handles.js';
import type { HandleHolds } from '../lease/holding/lease-handle.js';
import type { QuorumHold } from './quorum-hold.js';

const forgottenHandles = new CollectedHandles<QuorumHold>((hold) => {
  hold.abandon();
});

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
