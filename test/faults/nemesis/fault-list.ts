import { laggingDisks } from './disk-faults.js';
import type { Fault } from './fault-world.js';
import {
  farClocks,
  killedPrimary,
  majorityLost,
  nearClocks,
  stepDowns,
  stoppedPrimary,
} from './member-faults.js';
import {
  cutOff,
  cutOffWorker,
  halfOpen,
  isolatedPrimary,
  lateRequests,
  lostReplies,
  lostStreams,
  silentStreams,
  slowWires,
} from './network-faults.js';
import {
  blockedWorker,
  endedWorker,
  killedWorker,
  stoppedWorker,
  stoppedWriter,
  workerClock,
} from './process-faults.js';
import {
  blockedByIndex,
  failingCommands,
  killedCursors,
  lostDocuments,
  unsteadyPurge,
} from './store-faults.js';

/** The faults of the store and of the network, one after the other. */
export const STORE_FAULTS: readonly Fault[] = [
  killedPrimary,
  stoppedPrimary,
  stepDowns,
  majorityLost,
  cutOff,
  cutOffWorker,
  isolatedPrimary,
  halfOpen,
  lostReplies,
  lateRequests,
  failingCommands,
  nearClocks,
  farClocks,
  lostStreams,
  killedCursors,
  silentStreams,
  lostDocuments,
  unsteadyPurge,
  laggingDisks,
  slowWires,
  blockedByIndex,
];

/** The faults of the processes, at the same time as the others. */
export const PROCESS_FAULTS: readonly Fault[] = [
  stoppedWorker,
  stoppedWriter,
  killedWorker,
  blockedWorker,
  workerClock,
  endedWorker,
];

const MILD_FAULTS: readonly Fault[] = [lostReplies, lateRequests, lostStreams, killedCursors];

/**
 * The faults of a strict round: none that takes the store away for long or harms a process. In every other strict round,
 * none closes a connection either, so that cursors can be counted.
 */
export const mildFaultsOf = (strictRound: number): readonly Fault[] =>
  strictRound % 2 === 0 ? MILD_FAULTS : [killedCursors];

/**
 * The faults of one round of many. Every other round has none with an excuse, so that everything is judged. No round has
 * two kinds of them, because tokens cannot bear both lost documents and clocks that step back (guarantee 3).
 */
export function faultsOfRound(round: number, wanted: readonly Fault[]): readonly Fault[] {
  const excused = wanted.filter(({ excuses = [] }) => excuses.length > 0);
  const others = wanted.filter((fault) => !excused.includes(fault));
  const turn = excused[Math.floor(round / 2) % excused.length];
  const isHeldToAll = others.length > 0 && round % 2 === 0;
  return turn === undefined || isHeldToAll ? others : [...others, turn];
}

const SCENARIOS = 'test/faults/scenarios';

/** The test files of the faults that have tests of their own, instead of rounds or besides. */
export const PROVED_ELSEWHERE: Readonly<Record<number, readonly string[]>> = {
  9: [`${SCENARIOS}/failing-commands.test.ts`],
  15: [`${SCENARIOS}/stream-killed.test.ts`, `${SCENARIOS}/stream-unopened.test.ts`],
  16: [`${SCENARIOS}/stream-lost.test.ts`],
  17: ['test/behaviour/environments/standalone.test.ts', 'test/behaviour/environments/privileges.test.ts'],
  18: [`${SCENARIOS}/vanishing-documents.test.ts`],
  19: [`${SCENARIOS}/index-builds.test.ts`],
  20: [`${SCENARIOS}/full-disk.test.ts`],
  22: [`${SCENARIOS}/lost-connections.test.ts`],
  23: [`${SCENARIOS}/small-pool.test.ts`],
  24: [`${SCENARIOS}/overload.test.ts`],
  25: [`${SCENARIOS}/stored-anything.test.ts`, `${SCENARIOS}/stored-giants.test.ts`],
  26: ['test/behaviour/protocol/caller-text.test.ts'],
  27: [`${SCENARIOS}/strange-collections.test.ts`],
  28: [
    'test/behaviour/environments/client-options.test.ts',
    'test/behaviour/environments/secondaries.test.ts',
    `${SCENARIOS}/client-options.test.ts`,
  ],
  29: ['test/behaviour/fencing/fenced-transaction.test.ts', 'test/behaviour/fencing/commit-outcomes.test.ts'],
  31: [`${SCENARIOS}/index-builds.test.ts`],
  32: [`${SCENARIOS}/process-ends.test.ts`],
  33: ['test/behaviour/holding/seats-and-holds.test.ts'],
};
