import { afterAll, beforeAll } from 'vitest';

import { startFaultCluster } from '../../lab/cluster/fault-cluster.js';
import type { ClusterOptions, FaultCluster } from '../../lab/cluster/fault-cluster.js';

/** Three members on a busy machine, with an election. */
const START_BOUND_MS = 180_000;

/** Starts a cluster before the tests of the file, and stops it after them. Tests get it by calling the function. */
export function useFaultCluster(options: ClusterOptions = {}): () => FaultCluster {
  let cluster: FaultCluster | undefined;
  beforeAll(async () => {
    cluster = await startFaultCluster(options);
  }, START_BOUND_MS);
  afterAll(async () => {
    await cluster?.[Symbol.asyncDispose]();
  });
  return () => {
    if (cluster === undefined) throw new Error('the cluster was not started');
    return cluster;
  };
}
