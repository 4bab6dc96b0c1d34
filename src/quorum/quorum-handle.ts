import { ModeChangingHandle } from '../lease/mode-change/reader-writer-handle.js';
import type { QuorumHold } from './quorum-hold.js';
import { QuorumModeChanges } from './quorum-mode-changes.js';
import { quorumOwner } from './quorum-owner.js';
import type { Quorum } from './quorum.js';

export class QuorumReaderWriterHandle extends ModeChangingHandle<QuorumHold> {
  constructor(hold: QuorumHold, quorum: Quorum) {
    super(hold, quorumOwner, new QuorumModeChanges(quorum, hold));
  }
}
