/**
 * Files of tests that run on a replica set in memory, as patterns below `test/`. The long run also runs them on a real
 * server. docs/guarantees.md lists them for readers, and a test compares the two.
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

/** Those of them that the quick run leaves out in memory, too: each suite in them also runs in a file that it has. */
export const LONG_SIMULATED_FILES: readonly string[] = [
  'behaviour/conformance/{kept-composite-of-two,kept-semaphore-of-one}.change-stream.test.ts',
  'behaviour/conformance/semaphore-with-one-left.change-stream.test.ts',
  'behaviour/conformance/{composite-of-two,kept-*,semaphore-of-one}.polling.test.ts',
  'behaviour/conformance/{semaphore,semaphore-with-one-left,upgradeable-read,write-lock}.polling.test.ts',
];
