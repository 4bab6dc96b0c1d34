/**
 * Files of tests that run on a replica set in memory, as patterns below `test/`. One of the two runs has them on a real
 * server, too, but for `MEMORY_ONLY_FILES`. docs/guarantees.md lists them for readers, and a test compares the two.
 */
export const SIMULATED_FILES: readonly string[] = [
  'behaviour/conformance/*.{change-stream,polling}.test.ts',
  'behaviour/elections/{contest,dead-standbys,drains,extension-read,failing-terms,grants-by-event}.test.ts',
  'behaviour/elections/{hand-over,last-word,leader-election,looks,transition}.test.ts',
  'behaviour/jobs/{job-status,run-now,scheduled-job}.test.ts',
  'behaviour/seat-cache/kept-{locks,passes,reads,seats}.test.ts',
  'behaviour/holding/{many-holds,revocation}.test.ts',
  'behaviour/waiting/{queue-full,unsound-looks}.test.ts',
  'behaviour/quorum/{quorum-locks,restarting-store,revocation,tries-with-one-away}.test.ts',
  'behaviour/primitives/{all-or-nothing,early-tries}.test.ts',
  'behaviour/{options/negative-zero,provider/abort-listeners,provider/warnings,store/whole-read}.test.ts',
];

/**
 * Those of them that run in memory only. A real server runs each suite by polling on one kind of lock, and by change streams
 * on each kind, but not on all parts of a semaphore that serve as a mutex; these run the same suites.
 */
export const MEMORY_ONLY_FILES: readonly string[] = [
  'behaviour/conformance/{composite-of-two,kept-*,semaphore-of-one,semaphore-with-one-left}.polling.test.ts',
  'behaviour/conformance/{upgradeable-read,write-lock}.polling.test.ts',
  'behaviour/conformance/{kept-composite-of-two,kept-semaphore-of-one}.change-stream.test.ts',
  'behaviour/conformance/{semaphore-of-one,semaphore-with-one-left}.change-stream.test.ts',
];

/** Those of them that the quick run leaves out in memory, too. It has other files with each of their suites of locks. */
export const LONG_SIMULATED_FILES: readonly string[] = [
  'behaviour/conformance/kept-{composite-of-two,reader-writer,semaphore,semaphore-of-one}.change-stream.test.ts',
  'behaviour/conformance/{mutex,semaphore-of-one,semaphore-with-one-left,write-lock}.change-stream.test.ts',
  'behaviour/conformance/upgradeable-read.change-stream.test.ts',
  'behaviour/conformance/composite-of-two.{change-stream,polling}.test.ts',
  'behaviour/conformance/{kept-*,semaphore-of-one}.polling.test.ts',
  'behaviour/conformance/{all-or-nothing,reader-writer,semaphore,semaphore-with-one-left}.polling.test.ts',
  'behaviour/conformance/{upgradeable-read,write-lock}.polling.test.ts',
  'behaviour/quorum/restarting-store.test.ts',
  'behaviour/primitives/early-tries.test.ts',
  'behaviour/holding/many-holds.test.ts',
];
