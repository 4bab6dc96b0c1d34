/**
 * Files of tests that the quick run does not run on real servers, as patterns below `test/`. It runs some of them on a
 * replica set in memory. docs/guarantees.md lists them for readers, and a test compares the two.
 */
export const LONG_FILES: readonly string[] = [
  'behaviour/conformance/!(mutex|reader-writer|semaphore|all-or-nothing).change-stream.test.ts',
  'behaviour/conformance/*.polling.test.ts',
  'behaviour/elections/{contest,dead-standbys,drains,failing-terms,hand-over,last-word,transition}.test.ts',
  'behaviour/jobs/{job-status,run-now}.test.ts',
  'behaviour/seat-cache/kept-{locks,passes}.test.ts',
  'behaviour/holding/{many-holds,revocation}.test.ts',
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
