import type { LockProvider } from '../../../src/index.js';
import type { SetName, WorkerLine } from '../history.js';
import type { Journal } from './journal.js';
import type { ProtectedSet } from './sets.js';
import type { WorkerTime } from './worker-time.js';

/** A set, and its name in the journal. */
export interface NamedSet {
  readonly name: SetName;
  readonly set: ProtectedSet;
}

/** The parts that all actors of a worker share. */
export interface Stage {
  readonly locks: LockProvider;
  readonly journal: Journal<WorkerLine>;
  readonly time: WorkerTime;
  readonly leaseMs: number;
  /** How long an actor may pause between reading a set and writing it back. */
  readonly thinkMs: number;
  /** How long an actor may be idle between two requests. */
  readonly idleMs: number;
  /**
   * The longest pause of candidates and jobs between two steps. Bursts are then 10 to 20 times as far apart. Default:
   * short pauses, and a burst every second.
   */
  readonly paceMs?: number;
  /** How many of a hundred holds last about as long as a lease. */
  readonly longHoldPercent: number;
  /** Whether a hold that was downgraded to upgradeable is upgraded once more. */
  readonly upgradesAgain?: boolean;
  /** The names of the locks that actors want; empty: all. */
  readonly locksWanted: readonly string[];
  /** The sets that values are added to. */
  readonly sets: readonly [NamedSet, ...NamedSet[]];
  /** Whether semaphores follow the stored limit, because operators change it. */
  readonly followsLimit?: boolean;
  /** As in `Witness`. */
  readonly obeys?: () => boolean;
  readonly isStopping: boolean;
  nextAsk(): number;
}

/** In a longer pause, an actor looks so often whether the stage is about to end. */
const LOOK_MS = 5_000;

/** Pauses for so long, or until the stage is about to end. */
export async function rest(stage: Stage, ms: number): Promise<void> {
  let leftMs = ms;
  for (; leftMs > LOOK_MS && !stage.isStopping; leftMs -= LOOK_MS) await stage.time.pause(LOOK_MS);
  if (!stage.isStopping) await stage.time.pause(leftMs);
}
