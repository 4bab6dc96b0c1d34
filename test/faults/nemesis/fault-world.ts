import { MongoClient } from 'mongodb';
import type { Db } from 'mongodb';

import { pause } from '../../../lab/patience.js';
import type { FaultCluster } from '../../../lab/cluster/fault-cluster.js';
import type { FaultMember } from '../../../lab/cluster/fault-member.js';
import type { Excuse, RunLine } from '../history.js';
import type { Random } from '../../../lab/random.js';
import type { Crew } from '../workload/crew.js';
import type { Worker } from '../workload/hired-worker.js';
import type { Journal } from '../workload/journal.js';

/** What a fault acts on. */
export interface FaultWorld {
  readonly cluster: FaultCluster;
  readonly crew: Crew;
  readonly random: Random;
  readonly journal: Journal<RunLine>;
  readonly database: string;
  readonly collection: string;
  /** How long the workers' leases are. */
  readonly leaseMs: number;
  /** Draws the length of a fault that does not end by itself. */
  readonly lengthMs: () => number;
  /** Starts a worker in place of a killed one. */
  hire(): Promise<void>;
  /** Moves the clock of a worker's process; undefined if that is not possible here. */
  readonly workerClock: ((offset: string) => void) | undefined;
}

/** One of the numbered faults. */
export interface Fault {
  readonly number: number;
  readonly title: string;
  /** Why the fault is not possible here; undefined if it is possible. */
  readonly missing?: (world: FaultWorld) => string | undefined;
  /** Default: none. */
  readonly excuses?: readonly Excuse[];
  /** Lets the fault begin, last and end. `heal` of the cluster undoes what it leaves behind. */
  inject(world: FaultWorld): Promise<void>;
}

/** Reports how many small effects a fault has had so far. */
type Tell = (effects: number) => void;

/** Runs a fault, and writes its beginning and its end to the journal, even if it fails. */
export async function during(
  { journal }: FaultWorld,
  { number: fault, excuses = [] }: Fault,
  what: string,
  body: (tell: Tell) => Promise<void>,
): Promise<void> {
  let effects: number | undefined;
  journal.write({ type: 'fault begins', fault, what, excuses });
  try {
    await body((count) => {
      effects = count;
    });
  } finally {
    const come = effects === undefined ? { what } : { what: `${what}: ${effects}`, effects };
    journal.write({ type: 'fault ends', fault, excuses, ...come });
  }
}

/** Waits for the length of a fault that does not end by itself. */
export async function last(world: FaultWorld): Promise<void> {
  await pause(world.lengthMs());
}

/** Ends the present primary, and then notes in the journal that it is gone. */
export async function losePrimary(
  { cluster, journal }: FaultWorld,
  { number: fault }: Fault,
  lose: (primary: FaultMember) => Promise<void> | void,
): Promise<FaultMember> {
  const primary = await cluster.untilPrimary();
  const term = await cluster.term();
  await lose(primary);
  journal.write({ type: 'primary gone', fault, term });
  return primary;
}

/** Draws a worker to harm, which is never the steady one. */
export function drawVictim({ crew, random }: FaultWorld): Worker {
  const [first, ...others] = crew.workers.filter(({ isSteady }) => !isSteady);
  if (first === undefined) throw new Error('every worker has ended');
  return random.pick([first, ...others]);
}

/** The run's database on the primary, past its proxy. */
export async function onPrimary<T>(world: FaultWorld, act: (db: Db) => Promise<T>): Promise<T> {
  const primary = await world.cluster.untilPrimary();
  const client = new MongoClient(primary.directUri);
  try {
    return await act(client.db(world.database));
  } finally {
    await client.close();
  }
}
