import type { Wanted } from '../plan/wanted.js';
import { CALM, CRASHES } from './hunting-grounds.js';
import type { SimulatedMutation } from './simulated-mutation.js';

const QUORUM: Wanted = { work: ['quorums'], count: 2, durationMs: 3_000 };

/** The clocks of the deployments differ, and now the one, now the other answers first. */
const DIFFERENT_CLOCKS: Wanted = {
  ...{ ...CALM, ...QUORUM, clockAllowanceMs: 600, idleMs: 20, longHoldPercent: 0 },
  ...{ faults: ['the clock of the primary is moved'], faultMs: [1, 1], pauseMs: 400 },
};

/** Two requests reach the deployments in different orders, so that each of them has some of the seats. */
const SPLIT_VOTES: Wanted = {
  ...{ ...CALM, ...QUORUM, leaseMs: 700, durationMs: 6_000 },
  ...{ faults: ['requests come late'], faultMs: [20, 300], pauseMs: 200 },
};

/** Bugs in how a lock is held in a majority of replica sets. */
export const QUORUM_MUTATIONS: readonly SimulatedMutation[] = [
  {
    name: 'quorum-of-a-minority',
    breaks: 'one deployment of three counts as a majority',
    edits: [
      {
        file: 'quorum/quorum-lock-provider.ts',
        find: 'majority: Math.floor(stores.length / 2) + 1,',
        replace: 'majority: Math.floor(stores.length / 2),',
      },
    ],
    ground: SPLIT_VOTES,
  },
  {
    name: 'quorum-fences-not-raised',
    breaks: 'a quorum holds without raising the fences of its majority',
    edits: [
      {
        file: 'quorum/round-tally.ts',
        find: 'each.seat.fencingToken <= token && each.fence.confirmed >= token',
        replace: 'each.seat.fencingToken <= token',
      },
      {
        file: 'quorum/quorum-rounds.ts',
        find: "    if (!this.#state.is('open') || granted.size < this.#quorum.majority) return;\n",
        replace: '    if (granted.size >= 0) return;\n',
      },
      {
        file: 'quorum/missing-stores.ts',
        find: 'while (mayJoin() && fence < hold.token) {',
        replace: 'while (mayJoin() && fence < 0) {',
      },
    ],
    ground: DIFFERENT_CLOCKS,
  },
  {
    name: 'quorum-late-seat-kept',
    breaks: 'a seat that is granted after its round has failed is not given back',
    edits: [
      {
        file: 'quorum/quorum-rounds.ts',
        find: "    else if (this.#state.is('closed') && answer.type === 'granted') void answer.seat.release();\n",
        replace: '',
      },
    ],
    ground: SPLIT_VOTES,
  },
  {
    name: 'quorum-failed-round-kept',
    breaks: 'a round that has failed keeps its seats',
    edits: [
      {
        file: 'quorum/quorum-rounds.ts',
        find: '    for (const seat of grantedSeats(this.#stores).values()) void seat.release();\n',
        replace: '',
      },
    ],
    ground: SPLIT_VOTES,
  },
  {
    name: 'quorum-asks-again',
    breaks: 'a round asks a store again that has granted it a seat already, and forgets that seat',
    edits: [
      {
        file: 'quorum/quorum-rounds.ts',
        find: '    if (asked.answer !== undefined) return;\n',
        replace: '',
      },
    ],
    // Gates are slow, and tries of the last round are answered meanwhile.
    ground: {
      ...{ ...CALM, ...QUORUM, count: 4, durationMs: 5_000, idleMs: 20, longHoldPercent: 2 },
      ...{ faults: ['the primary steps down', 'all members stop'], faultMs: [300, 1_300], pauseMs: 600 },
    },
  },
  {
    name: 'quorum-trusts-its-best-seat',
    breaks: 'a hold of a quorum lasts as long as its longest seat, and not as a majority of them',
    edits: [
      {
        file: 'quorum/quorum.ts',
        find: 'return remaining[majority - 1] ?? 0;',
        replace: 'return remaining[0] ?? 0;',
      },
    ],
    ground: {
      ...{ ...CALM, ...QUORUM, durationMs: 6_000, longHoldPercent: 50 },
      ...{ faults: ['a process reaches one replica set only', 'a process stands still'] },
      ...{ faultMs: [600, 2_500], pauseMs: 800 },
    },
  },
  {
    name: 'quorum-loss-not-told',
    breaks: 'a hold of a quorum without a majority is not told that it is lost',
    edits: [
      {
        file: 'quorum/quorum-hold.ts',
        find: "    if (this.#members.size < this.#quorum.majority) this.#lose(ended ?? 'expired');\n    else this.#missing.arm();",
        replace: '    if (ended !== undefined) this.#missing.arm();',
      },
    ],
    ground: { ...CRASHES, ...QUORUM },
  },
  {
    name: 'quorum-releases-a-majority-only',
    breaks: 'the release of a hold leaves the seats beyond a majority',
    edits: [
      {
        file: 'quorum/seat-releases.ts',
        find: 'callSeats(seats, releaseHeld)',
        replace: 'callSeats(seats.slice(0, majority), releaseHeld)',
      },
    ],
    ground: { ...CALM, ...QUORUM },
  },
  {
    name: 'quorum-keeps-weaker-seats',
    breaks: 'after an upgrade, the seats that were not upgraded are forgotten and not given back',
    edits: [
      {
        file: 'quorum/quorum-members.ts',
        find: '      this.#seats.delete(store);\n      void seat.release();\n',
        replace: '      this.#seats.delete(store);\n',
      },
    ],
    ground: { ...CRASHES, ...QUORUM },
  },
  {
    name: 'fence-of-a-quorum-not-stored',
    breaks: 'the server does not raise the fence that a quorum asks it to raise',
    edits: [
      {
        file: 'protocol/pipeline/effects.ts',
        find: "when(rules.isHeldBy(id), { $max: ['$fence', { $toLong: token }] }, '$fence')",
        replace: "when(rules.isHeldBy(id), '$fence', { $max: ['$fence', { $toLong: token }] })",
      },
    ],
    ground: DIFFERENT_CLOCKS,
  },
];
