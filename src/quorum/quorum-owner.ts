import type { HandleOwner } from '../lease/holding/lock-handle.js';
import type { QuorumHold } from './quorum-hold.js';

/** Of all providers of the process: one that were collected itself would never call back. */
const forgotten = new FinalizationRegistry<QuorumHold>((hold) => {
  hold.abandon();
});

/** What handles ask of it. */
export const quorumOwner: HandleOwner<QuorumHold> = {
  databaseName: undefined,
  confirm: (hold) => hold.confirm(),
  release: (hold) => hold.release(),
  track: (handle, hold) => {
    forgotten.register(handle, hold, handle);
  },
  untrack: (handle) => {
    forgotten.unregister(handle);
  },
};
