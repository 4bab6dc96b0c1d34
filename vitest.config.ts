import { availableParallelism } from 'node:os';

import { defineConfig } from 'vitest/config';

import { DATA_PARENT_VARIABLE, folderInMemory } from './lab/mongo-server/data-folders.js';
import { BREADTH_VARIABLE, breadthOf } from './test/support/breadth.js';
import { filesOf, matching } from './test/support/files-of-run.js';
import { BUSY_FILES } from './test/support/long-files.js';
import { SEPARATE_FILES, RESERVED_FILES } from './test/support/separate-files.js';
import { SlowFirst } from './test/support/slow-first.js';
import { SIMULATION, STORE_VARIABLE } from './test/support/stores.js';

/** `--mode long` is the long run; see test/support/breadth.ts. */
export default defineConfig(({ mode }) => {
  const breadth = breadthOf(mode === 'long' ? mode : process.env[BREADTH_VARIABLE]);
  // The servers of the long run, like those of an application, write to a disk.
  const inMemory = breadth === 'quick' ? folderInMemory() : undefined;
  if (inMemory !== undefined) process.env[DATA_PARENT_VARIABLE] ??= inMemory;
  const { inMemory: simulated, onServers } = filesOf(breadth);
  const ofKind = (patterns: readonly string[]): string[] => onServers.filter(matching(patterns));
  const separate = ofKind(SEPARATE_FILES);
  const reserved = ofKind(RESERVED_FILES);
  const busy = ofKind(BUSY_FILES).filter((file) => !separate.includes(file));
  const ofNoKind = onServers.filter((file) => ![...separate, ...reserved, ...busy].includes(file));
  const processors = Math.min(4, availableParallelism());
  const shared = {
    setupFiles: ['test/support/each-file.ts'],
    env: { [BREADTH_VARIABLE]: breadth },
    pool: 'forks',
    // To load the library takes a file longer than most of its tests, so files share a process.
    isolate: false,
    // What lives until the end of a test is then collected once, rather than copied several times.
    execArgv: ['--max-semi-space-size=64'],
    // Far more than any of them takes: a bound of what hangs, on whatever machine.
    testTimeout: 600_000,
    hookTimeout: 600_000,
    teardownTimeout: 30_000,
  };
  // Projects of the same order run at the same time, the others one after the other.
  const computing = { maxWorkers: Math.max(2, processors), sequence: { groupOrder: 0 } };
  // The files of the quick run mostly wait. Many files of the long run start processes of their own.
  const filesEach = breadth === 'long' ? 2 : 3;
  const waiting = { maxWorkers: filesEach * Math.max(2, processors), sequence: { groupOrder: 1 } };
  return {
    test: {
      ...shared,
      experimental: { fsModuleCache: true },
      sequence: { sequencer: SlowFirst },
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
            include: [...simulated],
            ...computing,
          },
        },
        {
          test: {
            ...shared,
            name: 'busy',
            include: busy,
            ...computing,
          },
        },
        {
          test: {
            ...shared,
            name: 'separate',
            isolate: true,
            include: separate,
            ...computing,
          },
        },
        {
          test: {
            ...shared,
            name: 'reserved',
            include: reserved,
            ...computing,
          },
        },
        {
          test: {
            ...shared,
            name: 'waiting',
            include: ofNoKind,
            ...waiting,
          },
        },
      ],
    },
  };
});
