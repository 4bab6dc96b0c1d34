import { CALM, STRICT } from './hunting-grounds.js';
import type { SimulatedMutation } from './simulated-mutation.js';

/** Bugs that show only under the faults that are drawn by themselves. */
export const FAULT_MUTATIONS: readonly SimulatedMutation[] = [
  {
    name: 'copy-of-a-call-asks-again',
    breaks: 'a copy of a call that was claimed already asks for one more run',
    edits: [
      {
        file: 'protocol/jobs/job-calls.ts',
        find: "isNew: all(not('$isPending'), equal(number('asked'), since), not('$isFull'), not('$isLate')),",
        replace: "isNew: all(not('$isPending'), not('$isFull'), { $lt: [NOW, until] }),",
      },
    ],
    ground: {
      ...{ ...CALM, work: ['jobs'], durationMs: 6_000 },
      ...{ faults: ['requests come twice'], faultMs: [200, 1_000], pauseMs: 100 },
    },
  },
  {
    name: 'waiter-looks-at-the-last-moment',
    breaks: 'a waiter trusts its change stream, and looks by time only when its place is nearly over',
    edits: [
      {
        file: 'lease/waiting/lock-waits.ts',
        find: 'extendAt(sentAt.ms + tracked.wait.durations.leaseMs / 3);',
        replace: 'extendAt(sentAt.ms + tracked.wait.durations.leaseMs * 0.9);',
      },
    ],
    ground: {
      ...{ ...STRICT, work: ['actors'], count: 3, leaseMs: 8_000, durationMs: 10_000 },
      ...{ locks: ['mutex-a'], faults: ['change streams are silent'], faultMs: [7_000, 9_000], pauseMs: 500 },
    },
  },
  {
    name: 'restored-fence-believed',
    breaks: 'a token comes from the stored fence alone, and from the clock only where no fence is stored',
    edits: [
      {
        file: 'protocol/expressions.ts',
        find: "$add: [{ $max: ['$fence', CLOCK_TOKEN] }, ...offset, 1],",
        replace: "$add: [{ $cond: [{ $gt: ['$fence', 0] }, '$fence', CLOCK_TOKEN] }, ...offset, 1],",
      },
    ],
    ground: {
      ...{ ...CALM, work: ['actors'], count: 3, durationMs: 5_000 },
      ...{ faults: ['an old copy is restored'], pauseMs: 1_000 },
    },
  },
];
