import { availableParallelism } from 'node:os';

import { defineConfig } from 'vitest/config';

import { DATA_PARENT_VARIABLE, folderInMemory } from './lab/mongo-server/data-folders.js';
import { BREADTH_VARIABLE, breadthOf } from './test/support/breadth.js';
import { BUSY_FILES, LONG_FILES } from './test/support/long-files.js';
import { SEPARATE_FILES } from './test/support/separate-files.js';
import { LONG_SIMULATED_FILES, SIMULATED_FILES } from './test/support/simulated-files.js';
import { SIMULATION, STORE_VARIABLE } from './test/support/stores.js';

const ALL = '{test,benchmarks}/**/*.test.ts';
/** Projects that use the packed library, each with a test runner of its own. */
const PROJECTS = 'test/package/projects/**';
const below = (patterns: readonly string[]): string[] => patterns.map((pattern) => `test/${pattern}`);

/** `--mode long` is the long run; see test/support/breadth.ts. */
export default defineConfig(({ mode }) => {
  const breadth = breadthOf(mode === 'long' ? mode : process.env[BREADTH_VARIABLE]);
  // The servers of the long run, like those of an application, write to a disk.
  const inMemory = breadth === 'quick' ? folderInMemory() : undefined;
  if (inMemory !== undefined) process.env[DATA_PARENT_VARIABLE] ??= inMemory;
  const leftOut = breadth === 'long' ? [] : below(LONG_FILES);
  const leftOutInMemory = breadth === 'long' ? [] : below(LONG_SIMULATED_FILES);
  const processors = Math.min(4, availableParallelism());
  const shared = {
    setupFiles: ['test/support/each-file.ts'],
    env: { [BREADTH_VARIABLE]: breadth },
    pool: 'forks',
    // To load the library takes a file longer than most of its tests, so files share a process in the quick run.
    isolate: breadth === 'long',
    // What lives until the end of a test is then collected once, rather than copied several times.
    execArgv: ['--max-semi-space-size=64'],
    // Far more than any of them takes: a bound of what hangs, on whatever machine.
    testTimeout: 600_000,
    hookTimeout: 600_000,
    teardownTimeout: 30_000,
  };
  // Projects of the same order run at the same time, the others one after the other.
  const computing = { maxWorkers: Math.max(2, processors), sequence: { groupOrder: 0 } };
  // The files of the quick run mostly wait. Those of the long run each load the library anew.
  const filesEach = breadth === 'long' ? 2 : 4;
  const waiting = { maxWorkers: filesEach * Math.max(2, processors), sequence: { groupOrder: 1 } };
  return {
    test: {
      ...shared,
      experimental: { fsModuleCache: true },
      globalSetup: ['test/support/servers.ts'],
      reporters: [
        'default',
        ['json', { outputFile: `.cache/tests/${breadth}.json` }],
        './test/support/promise-reporter.ts',
      ],
      projects: [
        {
          test: {
            ...shared,
            name: SIMULATION,
            // What waits for no event of the simulation never ends.
            testTimeout: 120_000,
            env: { ...shared.env, [STORE_VARIABLE]: 'memory' },
            include: below(SIMULATED_FILES),
            exclude: leftOutInMemory,
            ...computing,
          },
        },
        {
          test: {
            ...shared,
            name: 'busy',
            include: below(BUSY_FILES),
            exclude: leftOut,
            ...computing,
          },
        },
        {
          test: {
            ...shared,
            name: 'separate',
            isolate: true,
            include: below(SEPARATE_FILES),
            ...waiting,
          },
        },
        {
          test: {
            ...shared,
            name: 'waiting',
            include: [ALL],
            exclude: [PROJECTS, ...below([...BUSY_FILES, ...SEPARATE_FILES]), ...leftOut],
            ...waiting,
          },
        },
      ],
    },
  };
});
