import { readdirSync } from 'node:fs';
import { join, relative, sep } from 'node:path';

import picomatch from 'picomatch';

import type { Breadth } from './breadth.js';
import { FILES_OF_BOTH_RUNS, LONG_FILES } from './long-files.js';
import { LONG_SIMULATED_FILES, MEMORY_ONLY_FILES, SIMULATED_FILES } from './simulated-files.js';

/** The files of tests that a run has, as paths from the root. A file may be in both lists. */
export interface FilesOfRun {
  readonly inMemory: readonly string[];
  readonly onServers: readonly string[];
}

/** Whether one of these patterns below `test/` matches the path of a file from the root. */
export function matching(patterns: readonly string[]): (file: string) => boolean {
  const matches = picomatch(patterns.map((pattern) => `test/${pattern}`));
  // A second argument, which `filter` would give it, makes it answer with an object.
  return (file) => matches(file);
}

/** The path of a file from the root, with slashes. */
export const pathFrom = (root: string, file: string): string => relative(root, file).split(sep).join('/');

const isLong = matching(LONG_FILES);
const isOfEither = matching([...LONG_FILES, ...FILES_OF_BOTH_RUNS]);
const isSimulated = matching(SIMULATED_FILES);
const isLongSimulated = matching(LONG_SIMULATED_FILES);
const isMemoryOnly = matching(MEMORY_ONLY_FILES);

const isInMemory = (file: string): boolean => isSimulated(file) && !isLongSimulated(file);

/** Whether only the long run has this file of tests: the quick run leaves it out, also in memory. */
export const isOfLongRunOnly = (file: string): boolean => isLong(file) && !isInMemory(file);

/** Whether the long run has this file of tests on a real server. */
export const isOfLongRun = (file: string): boolean => isOfEither(file) && !isMemoryOnly(file);

export function filesOf(breadth: Breadth): FilesOfRun {
  const all = ['test', 'benchmarks'].flatMap(testsBelow);
  return breadth === 'quick'
    ? { inMemory: all.filter(isInMemory), onServers: all.filter((file) => !isLong(file)) }
    : { inMemory: all.filter(isLongSimulated), onServers: all.filter(isOfLongRun) };
}

/** Projects below test/package use the packed library, each with a test runner of its own. */
function testsBelow(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((path) => join(folder, path).split(sep).join('/'))
    .filter((path) => path.endsWith('.test.ts') && !path.startsWith('test/package/projects/'));
}
