import type { FaultCluster } from '../../lab/cluster/fault-cluster.js';
import { faultsOfRound, mildFaultsOf } from './nemesis/fault-list.js';
import type { Fault } from './nemesis/fault-world.js';
import { runRound } from './round.js';
import type { RoundPlan, RoundResult } from './round.js';

/** The parts of all rounds of a run. */
export interface Ordeal {
  readonly cluster: FaultCluster;
  readonly program: string;
  readonly storeFaults: readonly Fault[];
  readonly processFaults: readonly Fault[];
  readonly keepsJournals?: boolean | undefined;
  /** The numbers of the faults, if only some are wanted. */
  readonly only?: readonly number[] | undefined;
}

/** One round in this many is strict. */
const STRICT_EVERY = 5;

/** Ordinary rounds have short leases, because only these are lost in failovers. */
const [SHORT_LEASE_MS, LONG_LEASE_MS] = [2_000, 30_000];

/** Runs the round with this number, of the run with this seed. */
export async function runOrdeal(
  ordeal: Ordeal,
  round: number,
  seed: number,
  durationMs: number,
): Promise<RoundResult> {
  const { cluster, program, keepsJournals, only } = ordeal;
  const chosen = only === undefined ? '' : ` --only ${only.join(',')}`;
  const again = `npm run test:faults -- --seed ${seed} --round ${round}${chosen}`;
  const common = { cluster, program, keepsJournals, seed: seed + round, again, durationMs };
  return await runRound({ ...common, ...planOf(ordeal, round) });
}

type Drawn = Pick<RoundPlan, 'storeFaults' | 'processFaults' | 'leaseMs' | 'isStrict' | 'faultMs'>;

function planOf({ storeFaults, processFaults }: Ordeal, round: number): Drawn {
  const mild = storeFaults.filter((fault) => mildFaultsOf(round / STRICT_EVERY).includes(fault));
  if (mild.length > 0 && round % STRICT_EVERY === 0) {
    const faultMs = { min: 300, max: 3_000 };
    return { storeFaults: mild, processFaults: [], leaseMs: LONG_LEASE_MS, isStrict: true, faultMs };
  }
  return {
    storeFaults: faultsOfRound(round, storeFaults),
    processFaults,
    leaseMs: SHORT_LEASE_MS,
    isStrict: false,
    faultMs: { min: 300, max: 8_000 },
  };
}
