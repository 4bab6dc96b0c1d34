import type { TrialName } from '../../faults/mutations/trials.js';
import { PASSED_ON, READ_MOSTLY, SELDOM_WANTED } from '../../faults/workload/wishes.js';
import type { Wanted } from '../plan/draw-plan.js';

/** The plans in which a kind of bug shows within a few seeds. */

/** Nothing happens, and leases are short. */
export const CALM: Wanted = { isStrict: false, leaseMs: 2_000, durationMs: 4_000, faults: [] };

/** Nothing happens, and a lost wake-up makes a grant late. */
export const STRICT: Wanted = { isStrict: true, leaseMs: 15_000, durationMs: 5_000, faults: [] };

export const CRASHES: Wanted = {
  ...{ isStrict: false, leaseMs: 700, durationMs: 6_000 },
  faults: ['a process crashes', 'a process stands still', 'a process is cut off', 'all members stop'],
};

export const LOST: Wanted = {
  ...{ isStrict: true, leaseMs: 15_000, durationMs: 6_000, count: 3 },
  faults: ['replies are lost', 'the primary steps down'],
};

export const LATE: Wanted = {
  ...{ isStrict: false, leaseMs: 2_000, durationMs: 8_000, count: 3 },
  faults: ['replies are late', 'replies are lost', 'a process is cut off', 'a process stands still'],
};

export const MOVED: Wanted = {
  ...{ isStrict: false, leaseMs: 700, clockAllowanceMs: 300, durationMs: 6_000 },
  faults: ['the clock of the primary is moved', 'the primary steps down', 'a process is cut off'],
};

const BOTH: Wanted = { work: ['actors', 'candidates'] };
const ACTORS: Wanted = { work: ['actors'] };
const BURSTS: Wanted = { work: ['bursts'] };

/** Rolled back is only what the primary alone has. */
const ISOLATED: Wanted = {
  ...{ isStrict: false, leaseMs: 2_000, durationMs: 8_000 },
  faults: ['the primary is cut off from the other members'],
};

/** The plans for the bugs that have a trial on real servers. `null`: only real servers show the bug. */
export const GROUNDS: Readonly<Record<TrialName, Wanted | null>> = {
  'nothing happens': { ...CALM, ...BOTH },
  'nothing happens, strictly': { ...STRICT, ...BOTH },
  'nothing happens, strictly, to a few': { ...STRICT, ...BOTH },
  'nothing happens, short leases': { ...CALM, ...ACTORS, isStrict: true, leaseMs: 700 },
  'killed processes': { ...CRASHES, ...BOTH },
  'nothing happens to readers, strictly': { ...STRICT, ...ACTORS, locks: [READ_MOSTLY] },
  'nothing happens to passes, strictly': { ...STRICT, ...ACTORS, locks: [PASSED_ON], durationMs: 10_000 },
  'killed readers': { ...CRASHES, ...ACTORS, locks: [READ_MOSTLY] },
  'nothing happens to a lock that is seldom wanted, strictly': {
    ...{ ...STRICT, ...ACTORS, locks: [SELDOM_WANTED], leaseMs: 120_000 },
    ...{ idleMs: 12_000, durationMs: 30_000 },
  },
  'stopped writers': {
    ...{ isStrict: false, leaseMs: 700, durationMs: 8_000, faults: ['a process stands still'] },
    ...{ ...ACTORS, thinkMs: 200, count: 2, locks: ['mutex-a'] },
  },
  // No fault of the simulation deletes documents.
  'lost documents': null,
  'broken streams': {
    ...{ ...STRICT, ...ACTORS, faults: ['change streams break'], leaseMs: 24_000 },
    ...{ count: 2, locks: ['mutex-a'], idleMs: 300 },
  },
  // The simulation does not count the cursors of its servers.
  'killed cursors': null,
  'lost replies': { ...LOST, ...BOTH },
  'late requests': {
    ...LATE,
    ...ACTORS,
    locks: ['mutex-a'],
    faults: ['a process stands still', 'the primary steps down'],
  },
  'late requests, in time': { ...LATE, ...ACTORS },
  'short cuts': { ...STRICT, ...ACTORS, faults: ['a process is cut off'], count: 3 },
  'long cuts': {
    ...{ ...ACTORS, isStrict: false, leaseMs: 700, clockAllowanceMs: 340, durationMs: 8_000, count: 2 },
    ...{ faults: ['a process is cut off'], locks: ['mutex-a', 'mutex-b'], longHoldPercent: 50 },
  },
  'an isolated primary': { ...ISOLATED, ...ACTORS },
  'late replies': {
    ...{ ...ACTORS, isStrict: false, leaseMs: 700, clockAllowanceMs: 0, durationMs: 10_000, count: 2 },
    ...{ faults: ['replies are late', 'a process stands still', 'a process is cut off'] },
    ...{ locks: ['mutex-a'], longHoldPercent: 60 },
  },
  'skewed failovers': {
    ...{ ...ACTORS, isStrict: false, leaseMs: 700, clockAllowanceMs: 340, durationMs: 10_000, count: 3 },
    ...{ faults: ['the clock of the primary is moved', 'the primary steps down', 'a process is cut off'] },
    ...{ locks: ['mutex-a'], longHoldPercent: 60 },
  },
  'new names': { ...CALM, ...BURSTS },
  'new names, strictly': { ...STRICT, ...BURSTS },
  'new names, lost replies': { ...LOST, ...BURSTS },
  'new names, short cuts': { ...STRICT, ...BURSTS, faults: ['a process is cut off'] },
  'new names, an isolated primary': { ...ISOLATED, ...BURSTS },
};
