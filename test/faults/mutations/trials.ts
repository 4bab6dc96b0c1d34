import { killedWorker, stoppedWriter } from '../nemesis/process-faults.js';
import { cutOff, lateRequests, lostReplies } from '../nemesis/network-faults.js';
import { killedCursors, lostDocuments } from '../nemesis/store-faults.js';
import type { RoundPlan } from '../round.js';
import { PASSED_ON, READ_MOSTLY, SELDOM_WANTED } from '../workload/wishes.js';
import {
  isolatedPrimary,
  lateReplies,
  skewedFailover,
  slowReopening,
  unacknowledgedGroups,
} from './sharp-faults.js';

/** The plan of a round that shows a certain kind of bug. */
export type Trial = Omit<RoundPlan, 'seed' | 'cluster' | 'program' | 'keepsJournals'>;

/** Bursts have trials of their own: the requests of the others are fewer beside them. */
const QUIET = { storeFaults: [], processFaults: [], faultMs: { min: 0, max: 0 }, bursts: 0 } as const;

/** No lease expires, and a waiter looks later than a strict round allows a grant to be heard of. */
const STRICT = { isStrict: true, leaseMs: 15_000 } as const;

const ORDINARY = { isStrict: false, leaseMs: 2_000 } as const;

/** Almost all requests go to the server in groups. */
const BURSTS = { actors: 1, bursts: 1 } as const;

const SECOND = 1_000;

/** Short trials, most of them with one fault. They cannot show a bug that needs an hour with all faults. */
export const TRIALS = {
  'nothing happens': { ...QUIET, ...ORDINARY, durationMs: 6 * SECOND },
  'nothing happens, strictly': { ...QUIET, ...STRICT, durationMs: 10 * SECOND },
  // One actor in each process: otherwise the request of another actor would bring the news of a grant.
  'nothing happens, strictly, to a few': { ...QUIET, ...STRICT, actors: 1, durationMs: 12 * SECOND },
  'nothing happens, short leases': { ...QUIET, ...ORDINARY, isStrict: true, durationMs: 10 * SECOND },
  'killed processes': {
    ...{ ...QUIET, ...ORDINARY, processFaults: [killedWorker] },
    durationMs: 10 * SECOND,
  },
  'nothing happens to readers, strictly': {
    ...QUIET,
    ...STRICT,
    onlyLock: READ_MOSTLY,
    durationMs: 12 * SECOND,
  },
  'nothing happens to passes, strictly': {
    ...QUIET,
    ...STRICT,
    onlyLock: PASSED_ON,
    durationMs: 15 * SECOND,
  },
  'killed readers': {
    ...{ ...QUIET, ...ORDINARY, processFaults: [killedWorker], onlyLock: READ_MOSTLY },
    durationMs: 12 * SECOND,
  },
  // Keepers are idle for so long that they do not listen, and their next extension comes after the round.
  'nothing happens to a lock that is seldom wanted, strictly': {
    ...{ ...QUIET, ...STRICT, hasCandidate: false, actors: 1, onlyLock: SELDOM_WANTED },
    ...{ leaseMs: 120_000, idleMs: 12 * SECOND, durationMs: 30 * SECOND, endBoundMs: 60 * SECOND },
  },
  'stopped writers': {
    ...{ ...QUIET, ...ORDINARY, leaseMs: 1_500, processFaults: [stoppedWriter] },
    ...{ thinkMs: 200, durationMs: 25 * SECOND },
  },
  'lost documents': { ...QUIET, ...ORDINARY, storeFaults: [lostDocuments], durationMs: 10 * SECOND },
  'broken streams': {
    ...{ ...QUIET, ...STRICT, storeFaults: [slowReopening] },
    ...{ leaseMs: 24_000, actors: 1, durationMs: 20 * SECOND },
  },
  // The only fault during which cursors are counted, because a process that is cut off cannot close its own.
  'killed cursors': { ...QUIET, ...STRICT, storeFaults: [killedCursors], durationMs: 12 * SECOND },
  'lost replies': {
    ...{ ...QUIET, ...STRICT, storeFaults: [lostReplies] },
    ...{ faultMs: { min: 300, max: 2_000 }, durationMs: 12 * SECOND },
  },
  'late requests': {
    // Longer than the two store timeouts after which a request must do nothing.
    ...{ ...QUIET, ...STRICT, storeFaults: [lateRequests], faultMs: { min: 3_500, max: 5_000 } },
    durationMs: 15 * SECOND,
  },
  'late requests, in time': {
    // Longer than a store timeout, so that the request is repeated, and shorter than its not-after.
    ...{ ...QUIET, ...STRICT, storeFaults: [lateRequests], faultMs: { min: 1_700, max: 2_700 } },
    durationMs: 15 * SECOND,
  },
  'short cuts': {
    ...{ ...QUIET, ...STRICT, storeFaults: [cutOff], faultMs: { min: 200, max: 600 } },
    durationMs: 12 * SECOND,
  },
  'long cuts': {
    ...{ ...QUIET, ...ORDINARY, storeFaults: [cutOff], faultMs: { min: 1_000, max: 2_500 } },
    // Half of a lease lies between the end of a hold and its expiry.
    ...{ options: { clockAllowanceMs: 950 }, durationMs: 15 * SECOND },
  },
  'an isolated primary': {
    ...{ ...QUIET, ...ORDINARY, storeFaults: [isolatedPrimary], faultMs: { min: 3_000, max: 5_000 } },
    durationMs: 15 * SECOND,
  },
  'late replies': {
    ...{ ...QUIET, ...ORDINARY, storeFaults: [lateReplies], faultMs: { min: 400, max: 900 } },
    ...{ options: { clockAllowanceMs: 0 }, durationMs: 20 * SECOND },
  },
  'skewed failovers': {
    ...{ ...QUIET, ...ORDINARY, leaseMs: 4_000, storeFaults: [skewedFailover] },
    // Longer than a grant is late on a busy machine, so that an early grant shows.
    ...{ options: { clockAllowanceMs: 1_500 }, durationMs: 20 * SECOND },
  },
  'new names': { ...QUIET, ...ORDINARY, ...BURSTS, durationMs: 8 * SECOND },
  'new names, strictly': { ...QUIET, ...STRICT, ...BURSTS, durationMs: 10 * SECOND },
  'new names, lost replies': {
    ...{ ...QUIET, ...STRICT, ...BURSTS, storeFaults: [lostReplies] },
    ...{ faultMs: { min: 300, max: 2_000 }, durationMs: 12 * SECOND },
  },
  'new names, short cuts': {
    ...{ ...QUIET, ...STRICT, ...BURSTS, storeFaults: [cutOff] },
    ...{ faultMs: { min: 200, max: 600 }, durationMs: 12 * SECOND },
  },
  'new names, an isolated primary': {
    ...{ ...QUIET, ...ORDINARY, ...BURSTS, storeFaults: [unacknowledgedGroups] },
    ...{ faultMs: { min: 3_000, max: 5_000 }, durationMs: 15 * SECOND },
  },
} as const satisfies Readonly<Record<string, Trial>>;

export type TrialName = keyof typeof TRIALS;
