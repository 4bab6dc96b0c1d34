/** Everything that a run of the simulation does not decide by itself. The same plan has the same run. */
export interface Plan {
  readonly seed: number;
  /** How long faults happen, in ms of virtual time. */
  readonly durationMs: number;
  readonly leaseMs: number;
  readonly clockAllowanceMs: number;
  /** Whether leases are so long, and faults so mild, that no hold may be lost and no grant may be heard late. */
  readonly isStrict: boolean;
  /** The names of the locks that actors want; empty: all. */
  readonly locks: readonly string[];
  /** As in `Stage`. */
  readonly paceMs?: number;
  readonly processes: readonly ProcessPlan[];
  readonly faults: readonly FaultStep[];
  /** What operators do. Absent where no process has an operator. */
  readonly operations?: readonly Operation[];
  /** The schedule of the job. Absent: a fixed rate. */
  readonly schedule?: 'fixed-delay' | 'cron';
}

/** What one simulated process does. */
export interface ProcessPlan {
  readonly seed: number;
  readonly isPolling: boolean;
  /** How long an actor may pause between reading a set and writing it back, and between two requests. */
  readonly thinkMs: number;
  readonly idleMs: number;
  /** How many of a hundred holds last about as long as a lease. */
  readonly longHoldPercent: number;
  /** Whether holds that were downgraded to upgradeable are upgraded once more. */
  readonly upgradesAgain?: boolean;
  /** How many of each request locks at the same time. */
  readonly actors: number;
  readonly bursts: number;
  readonly candidates: number;
  readonly jobs: number;
  readonly quorums: number;
  /** Absent where no process has an operator. */
  readonly operators?: number;
  /** For what its operator does, and for what its holders do when they are asked to release. */
  readonly operatorSeed?: number;
  /** For which of the new names its operator revokes. Absent where it revokes none of these. */
  readonly reachSeed?: number;
  /** Absent where it observes no election. */
  readonly observers?: number;
  readonly observerSeed?: number;
}

/** The work of processes that is drawn together. */
export const WORK = ['actors', 'bursts', 'candidates', 'jobs', 'quorums'] as const;

/** The work that is drawn by itself, from random numbers of its own. */
export const OTHER_WORK = ['operators', 'observers'] as const;

export type Work = (typeof WORK)[number] | (typeof OTHER_WORK)[number];

/** What an operator may do to all holds of a lock, to one of them, or to a semaphore. */
export const OPERATIONS = ['ask all', 'ask one', 'evict all', 'evict one', 'resize'] as const;

export type Operation = (typeof OPERATIONS)[number];

export const FAULT_KINDS = [
  'all members stop',
  'the primary steps down',
  'the primary is cut off from the other members',
  'the clock of the primary is moved',
  'replies are late',
  'replies are lost',
  'change streams break',
  'a process stands still',
  'a process is cut off',
  'a process crashes',
  'requests come late',
  'requests are lost',
  'a process reaches one replica set only',
] as const;

/** Faults for a kind of bug each. No seed draws them, because most runs would show nothing else beside them. */
export const SHARP_FAULT_KINDS = [
  'lock documents are lost',
  'the primary is cut off from the other members, and reports it',
] as const;

/** Faults that are drawn by themselves, from random numbers of their own, and only in some worlds. */
export const OTHER_FAULT_KINDS = [
  'requests come twice',
  'change streams are silent',
  'an old copy is restored',
] as const;

export type OtherFaultKind = (typeof OTHER_FAULT_KINDS)[number];

export type FaultKind = (typeof FAULT_KINDS)[number] | (typeof SHARP_FAULT_KINDS)[number] | OtherFaultKind;

/** One fault. */
export interface FaultStep {
  readonly kind: FaultKind;
  readonly atMs: number;
  readonly forMs: number;
  /** The number of the process, for a fault of a process. */
  readonly victim: number;
  /** The number of the replica set. The first one has all locks; a quorum uses all. */
  readonly set: number;
  /**
   * How many requests or replies are lost, late or doubled, by how many ms replies are late, by how many a clock is moved,
   * how old a copy is in ms.
   */
  readonly amount: number;
}

/** How many independent replica sets a quorum has. */
export const QUORUM_SETS = 3;

/** How many replica sets a world has. */
export const setsOf = (plan: Pick<Plan, 'processes'>): number => (hasQuorum(plan) ? QUORUM_SETS : 1);

const hasQuorum = ({ processes }: Pick<Plan, 'processes'>): boolean =>
  processes.some(({ quorums }) => quorums > 0);
