import type { TrialName } from '../../faults/mutations/trials.js';
import { PASSED_ON, READ_MOSTLY, SELDOM_WANTED } from '../../faults/workload/wishes.js';
import type { Wanted } from '../plan/wanted.js';

/** The plans in which a kind of bug shows within a few seeds. */

/** Nothing happens, and leases are short. */
export const CALM: Wanted = { isStrict: false, leaseMs: 2_000, durationMs: 3_000, faults: [] };

/** Nothing happens, and a lost wake-up makes a grant late. */
export const STRICT: Wanted = { isStrict: true, leaseMs: 15_000, durationMs: 4_000, faults: [] };

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

const BOTH: Wanted = { work: ['actors', 'candidates'], count: 3 };
const ACTORS: Wanted = { work: ['actors'], count: 3 };
const BURSTS: Wanted = { work: ['bursts'], count: 3 };

/** Rolled back is only what the primary alone has. */
const ISOLATED: Wanted = {
  ...{ isStrict: false, leaseMs: 2_000, durationMs: 8_000 },
  faults: ['the primary is cut off from the other members'],
};

/** Two processes want one lock. */
const SMALL: Wanted = { count: 2, locks: ['mutex-a'] };

const LATE_REQUESTS: Wanted = {
  ...{ ...STRICT, ...ACTORS, ...SMALL, faults: ['requests come late'], pauseMs: 1_000, durationMs: 8_000 },
};

/** The plans for the bugs that have a trial on real servers. */
export const GROUNDS: Readonly<Record<TrialName, Wanted>> = {
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
  'lost documents': { ...CALM, ...ACTORS, ...SMALL, faults: ['lock documents are lost'], pauseMs: 500 },
  'broken streams': {
    ...{ ...STRICT, ...ACTORS, ...SMALL, faults: ['replies are late', 'change streams break'] },
    ...{ leaseMs: 24_000, idleMs: 300, durationMs: 8_000 },
  },
  // Some streams are closed before they have opened, which takes longer than a store timeout, and less than two.
  'killed cursors': {
    ...{ ...CALM, ...ACTORS, ...SMALL, leaseMs: 5_000, faults: ['replies are late'] },
    ...{ faultMs: [2_000, 4_000], pauseMs: 500, durationMs: 8_000 },
  },
  'lost replies': { ...LOST, ...BOTH },
  // Longer than the two store timeouts after which a request must do nothing.
  'late requests': { ...LATE_REQUESTS, faultMs: [3_200, 5_000] },
  // Longer than a store timeout, so that the request is repeated, and shorter than its not-after.
  'late requests, in time': { ...LATE_REQUESTS, faultMs: [1_600, 2_700] },
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
    ...{ ...ACTORS, ...SMALL, isStrict: false, leaseMs: 700, clockAllowanceMs: 340, durationMs: 6_000 },
    ...{ faults: ['the clock of the primary is moved', 'a process is cut off'], faultMs: [500, 1_500] },
    ...{ pauseMs: 1_000, count: 3, longHoldPercent: 60 },
  },
  'new names': { ...CALM, ...BURSTS },
  'new names, strictly': { ...STRICT, ...BURSTS },
  'new names, lost replies': { ...LOST, ...BURSTS },
  'new names, short cuts': {
    ...{ ...STRICT, ...BURSTS, count: 2, faults: ['requests are lost'], faultMs: [50, 600], pauseMs: 400 },
  },
  'new names, an isolated primary': {
    ...{ ...ISOLATED, ...BURSTS, count: 2, durationMs: 5_000, faultMs: [300, 1_500], pauseMs: 700 },
    faults: ['the primary is cut off from the other members, and reports it'],
  },
};

/** Writes arrive after the lease of their holder, which stands still and extends nothing. */
const LATE_WRITES: Wanted = {
  ...{ ...CALM, ...ACTORS, ...SMALL, leaseMs: 700, faults: ['requests come late', 'a process stands still'] },
  ...{ faultMs: [800, 2_500], pauseMs: 300, durationMs: 5_000 },
};

/** For single bugs, instead of the plan of their trial: what shows them on real servers is rarer here. */
export const OWN_GROUNDS: Readonly<Record<string, Wanted>> = {
  'fenced-without-comparison': LATE_WRITES,
  'fenced-without-token': LATE_WRITES,
  // The reply to a cancel is late, and its request was granted before.
  'cancel-forgets-grant': { ...STRICT, ...BURSTS, count: 2, faults: ['replies are late'], pauseMs: 300 },
};
