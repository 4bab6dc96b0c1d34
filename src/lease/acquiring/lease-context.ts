import type { Clock } from '../../clock.js';
import type { Report } from '../../events.js';
import type { Observation } from '../../observation.js';
import type { Settings } from '../../options/provider-options.js';
import type { Combiner } from '../../store/updates/combiner.js';
import type { LockCollection } from '../../store/lock-collection.js';
import type { ReleaseQueue } from '../holding/release-queue.js';
import type { WaitingRoom } from '../waiting/waiting-room.js';

/** The parts of an engine that requests, changes of mode, elections and claims work with. */
export interface LeaseContext {
  readonly settings: Settings;
  readonly process: string;
  readonly clock: Clock;
  readonly report: Report;
  readonly observation: Observation;
  readonly collection: LockCollection;
  readonly combiner: Combiner;
  readonly room: WaitingRoom;
  readonly releases: ReleaseQueue;
  /**
   * Called when an upgrade of the lock `name` begins, because the upgrade waits until all other readers have left.
   * Until an answer shows that nobody waits, no new reader shares a kept read of this process, and the process gives
   * the kept read back when no reader uses it.
   */
  makeWay(name: string): void;
  readonly closing: AbortSignal;
}
