/** Files of tests that share no process with any other file, as patterns below `test/`. */
export const SEPARATE_FILES: readonly string[] = [
  // It counts what no file of its process handles.
  'simulation/swarm.test.ts',
  // It replaces modules that other files have loaded.
  'behaviour/conformance/every-combination.test.ts',
  // The code of the pages listens to the diagnostics channels of its process, and schedules tasks there.
  'docs/memory-run.test.ts',
  // It measures the heap, in which garbage of another file would hide a growth.
  'behaviour/holding/kept-by-a-hold.test.ts',
];

/** Files of tests that share their processes with each other only, as patterns below `test/`. */
export const RESERVED_FILES: readonly string[] = [
  // They collect garbage again and again, which takes longer the more a process has in memory.
  'behaviour/holding/heard-signals.test.ts',
  'behaviour/primitives/unawaited-work.test.ts',
  'behaviour/dashboard/collected-requests.test.ts',
  'behaviour/command-line/collected-reads.test.ts',
  // What is published, and whether anybody listens, is one for a whole process.
  'behaviour/telemetry/{diagnostics,instrument,links,metrics,spans}.test.ts',
];
