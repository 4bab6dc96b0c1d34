import type { Reporter, TestModule, Vitest } from 'vitest/node';

import { citationsIn, museum, notProved, promises } from '../docs/promises.js';
import { filesOf, pathFrom } from './files-of-run.js';
import { SIMULATION } from './stores.js';
import { BREADTH_VARIABLE, breadthOf } from './breadth.js';

/** After a run of all files: every test that docs/guarantees.md cites must have run and passed, or the run has failed. */
export default class PromiseReporter implements Reporter {
  #vitest: Vitest | undefined;

  onInit(vitest: Vitest): void {
    this.#vitest = vitest;
  }

  async onTestRunEnd(modules: readonly TestModule[]): Promise<void> {
    if (this.#vitest === undefined || !(await isWhole(this.#vitest, modules))) return;
    const breadth = breadthOf(this.#vitest.config.env[BREADTH_VARIABLE]);
    const { root } = this.#vitest.config;
    const onServers = new Set(filesOf(breadth).onServers);
    const fileOf = ({ moduleId }: TestModule): string => pathFrom(root, moduleId);
    // A pass in memory proves nothing in the long run, nor for a file that also runs on a real server.
    const proving = modules.filter(
      (module) =>
        module.project.name !== SIMULATION || (breadth === 'quick' && !onServers.has(fileOf(module))),
    );
    const passed = proving.flatMap((module) => {
      const file = fileOf(module);
      return [...module.children.allTests('passed')].map(({ fullName }) => ({ file, title: fullName }));
    });
    const pages = {
      'docs/guarantees.md': promises.flatMap((promise) => promise.citations),
      'docs/museum.md': citationsIn(museum.text),
    };
    for (const [page, citations] of Object.entries(pages)) {
      const missing = notProved(citations, passed, breadth);
      for (const each of missing) console.error(`${page} cites a test that has not passed: ${each}`);
      if (missing.length > 0) process.exitCode = 1;
      else console.log(`${citations.length} citations of ${page}: each test has run (${breadth}) and passed`);
    }
  }
}

/** Nothing was chosen: no project, no file, no title, no part. */
async function isWhole(vitest: Vitest, modules: readonly TestModule[]): Promise<boolean> {
  const { testNamePattern, shard, project } = vitest.config;
  if (testNamePattern !== undefined || shard !== undefined || project.length > 0) return false;
  const all = await vitest.globTestSpecifications();
  const ran = new Set(modules.map(({ moduleId }) => moduleId));
  return all.every(({ moduleId }) => ran.has(moduleId));
}
