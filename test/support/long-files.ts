/**
 * Files of tests that the quick run does not run on real servers, as patterns below `test/`. It runs some of them on a
 * replica set in memory. docs/guarantees.md lists them for readers, and a test compares the two.
 */
export const LONG_FILES: readonly string[] = [
  'behaviour/conformance/{all-or-nothing,composite-of-two,reader-writer,semaphore}.change-stream.test.ts',
  'behaviour/conformance/{kept-*,semaphore-of-one,semaphore-with-one-left}.change-stream.test.ts',
  'behaviour/conformance/{upgradeable-read,write-lock}.change-stream.test.ts',
  'behaviour/conformance/*.polling.test.ts',
  'behaviour/conformance/large-listings.test.ts',
  'behaviour/command-line/{completion,dashboard,doctor,fleet,frozen-servers,looks,losses,outage,run}.test.ts',
  'behaviour/command-line/hostile-texts.test.ts',
  'behaviour/command-line/{settings,silent-servers,slow-reader,store-trouble,terminal}.test.ts',
  'behaviour/dashboard/{events,hostile-texts,lock-feed}.test.ts',
  'behaviour/dashboard/{page,page-in-use,page-refused,page-revoking}.test.ts',
  'behaviour/dashboard/page-roles.test.ts',
  'behaviour/elections/{contest,dead-standbys,drains,failing-terms,grants-by-event}.test.ts',
  'behaviour/elections/{hand-over,last-word,looks,transition}.test.ts',
  'behaviour/elections/{contest.processes,deaths.processes,failover,leader-election,store-away}.test.ts',
  'behaviour/jobs/{fleet,job-status,random-terms,run-now}.test.ts',
  'behaviour/node-cron/{fleet,run-coordinator}.test.ts',
  'behaviour/protocol/caller-text.test.ts',
  'behaviour/primitives/{early-tries,unawaited-work}.test.ts',
  'behaviour/provider/{keep-alive,many-names}.test.ts',
  'behaviour/telemetry/linked-hand-over.test.ts',
  'behaviour/quorum/{awaited-calls,quorum-locks,restarting-store,revocation,tries-with-one-away}.test.ts',
  'behaviour/seat-cache/kept-{locks,passes,reads,seats}.test.ts',
  'behaviour/seat-cache/far-keepers.test.ts',
  'behaviour/holding/{asking-about-holds,corrupt-answers,heard-signals,kept-by-a-hold}.test.ts',
  'behaviour/holding/{many-holds,revocation}.test.ts',
  'behaviour/environments/*.test.ts',
  'behaviour/fencing/{commit-outcomes,never-backwards,privileges,stored-values}.test.ts',
  'behaviour/store/groups.test.ts',
  'behaviour/store-away/{living,matrix,refusals}.test.ts',
  'behaviour/waiting/{many-waiters,near-and-far}.test.ts',
  'behaviour/processes/processes.polling.test.ts',
  'package/projects.test.ts',
  'behaviour/testing/{plain-programs,two-builds}.test.ts',
  'docs/{api-calls-recipe,catalogue-recipe,transfer-recipe,two-accounts-recipe}.test.ts',
  'docs/{examples,failures,fencing-examples,handlers,memory-run,mongoose-page,pictures}.test.ts',
  'docs/{privileges,programs-page,readme-example,running-examples,start-page}.test.ts',
  'docs/site/site.test.ts',
  'programs/{demo,examples}.test.ts',
  'judge/oplog-replay.test.ts',
  'structure/{public-api,shared-parts,surroundings}.test.ts',
  'simulation/mixed-builds.test.ts',
  'lab/{child,connect-or-start,fault-cluster,members,start}.test.ts',
  'faults/{failovers,faults}.test.ts',
  'faults/scenarios/*.test.ts',
];

/** Files of tests that both runs have, as patterns below `test/`. */
export const FILES_OF_BOTH_RUNS: readonly string[] = [
  // They do less in the quick run: see `byBreadth`.
  'model/*.test.ts',
  'simulation/{repeatability,swarm}.test.ts',
  'simulation/interpreter/{documents,lock-documents,operators,values}.test.ts',
  'behaviour/conformance/*.{change-stream,polling}.test.ts',
  'behaviour/elections/contest.test.ts',
  'behaviour/store/wake-stream.test.ts',
  'behaviour/testing/{busy-callers,elections-and-jobs,faults,quorum}.test.ts',
  // A promise cites its suite for both ways of waiting, and only the long run has the other way.
  'behaviour/processes/processes.change-stream.test.ts',
];

/** Files that keep a processor busy all the time, rather than wait: more of them at a time would only slow each other. */
export const BUSY_FILES: readonly string[] = [
  // They build the site and many small projects. Beside them, the fault rounds and the demo would starve.
  'docs/site/site.test.ts',
  'package/projects.test.ts',
  '{model,behaviour/protocol,simulation,simulation/interpreter}/*.test.ts',
  'faults/scenarios/stored-anything.test.ts',
];
