import type { LockProvider } from '../../../src/index.js';
import type { SetName, WorkerLine } from '../history.js';
import type { Journal } from './journal.js';
import type { ProtectedSet } from './sets.js';

/** The parts that all actors of a worker share. */
export interface Stage {
  readonly locks: LockProvider;
  readonly journal: Journal<WorkerLine>;
  readonly leaseMs: number;
  /** How long an actor may pause between reading a set and writing it back. */
  readonly thinkMs: number;
  /** How long an actor may be idle between two requests. */
  readonly idleMs: number;
  /** The name of the only lock that actors want; `undefined`: all. */
  readonly onlyLock: string | undefined;
  readonly sets: Readonly<Record<SetName, ProtectedSet>>;
  readonly isStopping: boolean;
  nextAsk(): number;
}
