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

/** What a fault is let loose on. */
export interface FaultWorld {
  readonly cluster: FaultCluster;
  readonly crew: Crew;
  readonly random: Random;
  readonly journal: Journal<RunLine>;
  readonly database: string;
  readonly collection: string;
  /** How long the workers' leases are. */
  readonly leaseMs: number;
  /** How long a fault lasts that could last for ever. */
  readonly lengthMs: () => number;
  /** Gives the crew back a worker for one that was killed. */
  hire(): Promise<void>;
  /** Moves the clock of one worker's process; false where that is not possible here. */
  readonly workerClock: ((offset: string) => void) | undefined;
}

/** One of the numbered faults. */
export interface Fault {
  readonly number: number;
  readonly title: string;
  /** Why it cannot be had here; undefined where it can. */
  readonly missing?: (world: FaultWorld) => string | undefined;
  /** Default: none. */
  readonly excuses?: readonly Excuse[];
  /** Begins, lasts and ends; what it leaves behind is undone by `heal` of the cluster. */
  inject(world: FaultWorld): Promise<void>;
}

/** How many small ones a fault was made of so far. */
type Tell = (effects: number) => void;

/** The whole of a fault: written down at both ends, whatever happens between. */
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

/** Lasts as long as a fault lasts that could last for ever. */
export async function last(world: FaultWorld): Promise<void> {
  await pause(world.lengthMs());
}

/** Notes that nothing comes from the present primary any more, once that is so. */
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

/** A worker that may be harmed; the steady one never is. */
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
