import { afterAll, beforeAll, expect, it } from 'vitest';

import { useProgram } from '../../support/built-program.js';
import { smallDisk } from '../../../lab/cluster/disk.js';
import type { SmallDisk } from '../../../lab/cluster/disk.js';
import { startFaultCluster } from '../../../lab/cluster/fault-cluster.js';
import type { FaultCluster } from '../../../lab/cluster/fault-cluster.js';
import { fullDisk } from '../nemesis/disk-faults.js';
import { runRound } from '../round.js';
import { WORKER } from '../workload/crew.js';

/** A mongod takes three journal files of 100 MB, and little more for what a round writes. */
const DISK_MB = 450;
const SEED = 20_261_120;

let disk: SmallDisk | undefined;
let cluster: FaultCluster | undefined;
const worker = useProgram(WORKER);

beforeAll(async () => {
  disk = await smallDisk(DISK_MB);
  if (disk === undefined) return;
  cluster = await startFaultCluster({ dataFolders: [disk.folder] });
}, 180_000);

afterAll(async () => {
  await cluster?.[Symbol.asyncDispose]();
  await disk?.[Symbol.asyncDispose]();
});

it('a full disk of a member breaks no invariant', async ({ skip }) => {
  const [member] = cluster?.members ?? [];
  if (disk === undefined || cluster === undefined || member === undefined) {
    console.log('leasehold: mounting is not permitted here, so no disk is ever full');
    skip();
    return;
  }
  const result = await runRound({
    ...{ seed: SEED, cluster, program: worker.path, leaseMs: 2_000, isStrict: false },
    ...{ storeFaults: [fullDisk(disk, member)], processFaults: [] },
    ...{ durationMs: 5_000, faultMs: { min: 300, max: 3_000 } },
  });
  expect(result.violations).toEqual([]);
  expect(result.faults.get(20)).toBeGreaterThanOrEqual(2);
  expect(result.failovers.some(({ ms }) => ms !== null)).toBe(true);
  expect(member.isRunning).toBe(true);
});
