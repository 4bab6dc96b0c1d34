/**
 * Files of tests that the quick run leaves out whole, as patterns below `test/`. docs/guarantees.md lists them for
 * readers, and a test compares the two.
 */
export const LONG_FILES: readonly string[] = [
  'behaviour/conformance/{kept-*,semaphore-with-one-left,upgradeable-read}.change-stream.test.ts',
  'behaviour/conformance/!(mutex).polling.test.ts',

  'package/projects.test.ts',
  'programs/demo.test.ts',
  'judge/oplog-replay.test.ts',
  'lab/fault-cluster.test.ts',
  'faults/scenarios/overload.test.ts',
  'faults/scenarios/stored-giants.test.ts',
  'behaviour/environments/secondaries.test.ts',
  'behaviour/processes/processes.polling.test.ts',
];

/** Files that keep a processor busy all the time, rather than wait: more of them at a time would only slow each other. */
export const BUSY_FILES: readonly string[] = [
  '{model,behaviour/protocol}/*.test.ts',
  'faults/scenarios/overload.test.ts',
  'faults/scenarios/stored-anything.test.ts',
];
