/**
 * Files of tests that the quick run does not run on real servers, as patterns below `test/`. It runs some of them on a
 * replica set in memory. docs/guarantees.md lists them for readers, and a test compares the two.
 */
export const LONG_FILES: readonly string[] = [
  'behaviour/conformance/{all-or-nothing,composite-of-two,reader-writer,semaphore}.change-stream.test.ts',
  'behaviour/conformance/{kept-*,semaphore-of-one,semaphore-with-one-left}.change-stream.test.ts',
  'behaviour/conformance/{upgradeable-read,write-lock}.change-stream.test.ts',
  'behaviour/conformance/*.polling.test.ts',
  'behaviour/command-line/{dashboard,doctor,fleet,looks,losses,run,settings,terminal}.test.ts',
  'behaviour/dashboard/page.test.ts',
  'behaviour/elections/{contest,dead-standbys,drains,failing-terms,grants-by-event}.test.ts',
  'behaviour/elections/{hand-over,last-word,looks,transition}.test.ts',
  'behaviour/elections/{contest.processes,failover}.test.ts',
  'behaviour/jobs/{fleet,job-status,run-now}.test.ts',
  'behaviour/node-cron/fleet.test.ts',
  'behaviour/primitives/early-tries.test.ts',
  'behaviour/provider/many-names.test.ts',
  'behaviour/telemetry/linked-hand-over.test.ts',
  'behaviour/quorum/{quorum-locks,restarting-store,revocation,tries-with-one-away}.test.ts',
  'behaviour/seat-cache/kept-{locks,passes,reads,seats}.test.ts',
  'behaviour/holding/{many-holds,revocation}.test.ts',
  'behaviour/environments/secondaries.test.ts',
  'behaviour/processes/processes.polling.test.ts',
  'package/projects.test.ts',
  'behaviour/testing/plain-programs.test.ts',
  'docs/{examples,mongoose-page,privileges,programs-page,start-page}.test.ts',
  'docs/site/site.test.ts',
  'programs/{demo,examples}.test.ts',
  'judge/oplog-replay.test.ts',
  'lab/{fault-cluster,members,start}.test.ts',
  'faults/scenarios/{full-disk,group-failover,index-builds,overload}.test.ts',
  'faults/scenarios/{small-pool,stored-giants,stream-lost}.test.ts',
];

/** Files that keep a processor busy all the time, rather than wait: more of them at a time would only slow each other. */
export const BUSY_FILES: readonly string[] = [
  '{model,behaviour/protocol}/*.test.ts',
  'faults/scenarios/overload.test.ts',
  'faults/scenarios/stored-anything.test.ts',
];
