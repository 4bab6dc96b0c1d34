import type { FaultKind, Operation, OtherFaultKind, Plan, Work } from './plan.js';

/** The words of `--only`, and the work that each of them leaves. */
export const PARTS = {
  mutex: ['actors'],
  'reader-writer': ['actors'],
  semaphore: ['actors'],
  groups: ['bursts'],
  elections: ['candidates'],
  jobs: ['jobs'],
  quorum: ['quorums'],
  operations: ['operators', 'actors'],
} as const satisfies Readonly<Record<string, readonly Work[]>>;

export type Part = keyof typeof PARTS;

export const isPart = (word: string): word is Part => Object.hasOwn(PARTS, word);

/** What is fixed in advance; the seed decides the rest. */
export interface Wanted {
  /** Default: all parts. */
  readonly only?: readonly Part[] | undefined;
  /** The work of every process; the parts decide it otherwise. */
  readonly work?: readonly Work[] | undefined;
  readonly isStrict?: boolean | undefined;
  readonly leaseMs?: number | undefined;
  readonly clockAllowanceMs?: number | undefined;
  readonly durationMs?: number | undefined;
  readonly faults?: readonly FaultKind[] | undefined;
  /** Faults of these kinds happen beside those that the seed draws. */
  readonly beside?: readonly OtherFaultKind[] | undefined;
  /** The shortest and the longest time that a fault lasts. */
  readonly faultMs?: readonly [number, number] | undefined;
  /** The longest time from the beginning or from the last fault of a kind to its next one. */
  readonly pauseMs?: number | undefined;
  /** The names of the locks that actors want. */
  readonly locks?: readonly string[] | undefined;
  readonly idleMs?: number | undefined;
  /** As in `Stage`. */
  readonly paceMs?: number | undefined;
  readonly thinkMs?: number | undefined;
  readonly longHoldPercent?: number | undefined;
  readonly upgradesAgain?: boolean | undefined;
  readonly schedule?: Plan['schedule'];
  /** What operators do; the seed decides it otherwise. */
  readonly operations?: readonly Operation[] | undefined;
  /** Whether operators revoke holds of the names of bursts; the seed decides it otherwise. */
  readonly reachesNewNames?: boolean | undefined;
  /** The number of processes. */
  readonly count?: number | undefined;
}
