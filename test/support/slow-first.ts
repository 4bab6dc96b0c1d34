import { BaseSequencer } from 'vitest/node';
import type { TestSpecification } from 'vitest/node';

import { matching, pathFrom } from './files-of-run.js';

/** Files that take far longer than others. Many of them are small, and run long suites. */
const isSlow = matching([
  'docs/site/site.test.ts',
  'faults/{failovers,faults}.test.ts',
  'behaviour/conformance/*.test.ts',
  'behaviour/processes/*.test.ts',
  'behaviour/command-line/{doctor,fleet,frozen-servers,settings,silent-servers}.test.ts',
  'behaviour/{dashboard/{events,hostile-texts},holding/holding,provider/many-names}.test.ts',
  'behaviour/{quorum/quorum-locks,store-away/matrix,waiting/waiting}.test.ts',
  'behaviour/elections/deaths.processes.test.ts',
  'faults/scenarios/{full-disk,group-failover,stream-killed}.test.ts',
  'lab/{fault-cluster,members}.test.ts',
  'package/projects.test.ts',
  'programs/demo.test.ts',
  'simulation/swarm.test.ts',
]);

/** Starts the slow files first, so that none of them is alone at the end. Without times of an earlier run, size decides. */
export class SlowFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const { root } = this.ctx.config;
    const sorted = await super.sort(files);
    const slow = sorted.filter(({ moduleId }) => isSlow(pathFrom(root, moduleId)));
    return [...new Set([...slow, ...sorted])];
  }
}
