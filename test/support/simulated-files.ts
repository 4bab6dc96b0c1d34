/** Files of tests that also run on a replica set in memory, in virtual time, as patterns below `test/`. */
export const SIMULATED_FILES: readonly string[] = ['behaviour/conformance/*.{change-stream,polling}.test.ts'];
