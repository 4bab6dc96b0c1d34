import type { Clock } from '../../clock.js';
import type { Report } from '../../events.js';
import type { Settings } from '../../options/provider-options.js';
import type { Combiner } from '../../store/updates/combiner.js';
import type { LockCollection } from '../../store/lock-collection.js';
import type { ReleaseQueue } from '../holding/release-queue.js';
import type { WaitingRoom } from '../waiting/waiting-room.js';

/** The parts of a provider that an acquisition works with. */
export interface AcquisitionContext {
  readonly settings: Settings;
  readonly process: string;
  readonly clock: Clock;
  readonly report: Report;
  readonly collection: LockCollection;
  readonly combiner: Combiner;
  readonly room: WaitingRoom;
  readonly releases: ReleaseQueue;
  /**
   * Called when an upgrade of this lock begins. If this process keeps a read of the lock, the cache lets no new reader
   * share it and gives it back, because the upgrade waits for the end of that read.
   */
  makeWay(name: string): void;
  readonly closing: AbortSignal;
}
