import type { Wanted } from '../plan/draw-plan.js';
import { CALM, CRASHES, LATE } from './hunting-grounds.js';
import type { SimulatedMutation } from './simulated-mutation.js';

const JOBS: Wanted = { work: ['jobs'] };
const LEADERS: Wanted = { work: ['candidates'] };

export const JOB_MUTATIONS: readonly SimulatedMutation[] = [
  {
    name: 'unknown-claim-runs',
    breaks: 'a claim without an answer counts as granted',
    edits: [
      {
        file: 'schedule/claiming.ts',
        find: "const isSettled = (answer: ClaimAnswer): boolean => answer !== 'unknown';",
        replace: 'const isSettled = (): boolean => true;',
      },
      {
        file: 'schedule/claiming.ts',
        find: "    if (answer === 'unknown') return 'unknown';\n    if (answer === 'claimed')",
        replace: "    if (answer === 'claimed' || answer === 'unknown')",
      },
    ],
    ground: { ...CALM, ...JOBS, faults: ['requests are lost'], faultMs: [50, 500], pauseMs: 400 },
  },
  {
    name: 'call-claimed-again',
    breaks: 'a claim does not mark the call that it answers',
    edits: [
      {
        file: 'protocol/jobs/job-calls.ts',
        find: "when(isOfJob(job), merge('$$this', { claimed: call }), '$$this')",
        replace: "when(isOfJob(job), merge('$$this', { claimed: { $subtract: [call, 1] } }), '$$this')",
      },
    ],
    ground: { ...CALM, ...JOBS },
  },
  {
    name: 'outdated-claim-granted',
    breaks: 'a claim does not compare the last claim that it names',
    edits: [
      {
        file: 'protocol/jobs/job-claims.ts',
        find: "    [any(not(equal(LAST_INSTANT, after)), { $gte: [LAST_INSTANT, instant] }), 'outdated'],\n",
        replace: '',
      },
      {
        file: 'protocol/jobs/job-claims.ts',
        find: "    [not(isTerm(id, token)), 'deposed'],\n",
        replace: '',
      },
      {
        file: 'schedule/term-claims.ts',
        find: '    if (claimed?.lastMs !== this.#last?.lastMs) this.#last = claimed;\n',
        replace:
          '    this.#last ??= claimed;\n    if (this.#last !== null && claimed !== null) this.#last = { ...claimed, lastMs: claimed.lastMs - 250 };\n',
      },
    ],
    ground: { ...LATE, ...JOBS },
  },
  {
    name: 'term-ends-during-a-run',
    breaks: 'a term is given back while a run of its job goes on',
    edits: [
      {
        file: 'schedule/job-term.ts',
        find: 'if (!this.#isRunning && this.#term.signal.aborted) this.#resolveDone(true);',
        replace: 'if (this.#term.signal.aborted) this.#resolveDone(true);',
      },
    ],
    ground: { ...CALM, work: ['jobs'] },
  },
  {
    name: 'claims-never-learned',
    breaks: 'a new term does not learn what was claimed before it',
    edits: [
      {
        file: 'schedule/term-claims.ts',
        find: '    if (claimed?.lastMs !== this.#last?.lastMs) this.#last = claimed;\n',
        replace: '    this.#last ??= claimed === null ? null : this.#last;\n',
      },
    ],
    ground: { ...CALM, ...JOBS },
  },
  {
    name: 'missed-instants-forgotten',
    breaks: 'instants that were missed while nobody led are neither run nor reported',
    edits: [
      {
        file: 'schedule/term-claims.ts',
        find: 'return this.#last === null ? undefined : this.#job.options.schedule.missed(this.#last, ms);',
        replace:
          'return ms > 0 ? undefined : this.#job.options.schedule.missed(this.#last ?? { lastMs: 0, anchorMs: 0 }, ms);',
      },
    ],
    ground: { ...CRASHES, faults: ['the primary steps down'], ...JOBS },
  },
];

export const ELECTION_MUTATIONS: readonly SimulatedMutation[] = [
  {
    name: 'handed-to-the-first',
    breaks: 'a term that is handed over goes to the first candidate of the queue',
    edits: [
      {
        file: 'protocol/kinds/election-seats.ts',
        find: "{ $concatArrays: ['$named', filter('$queue', not(isIn('$$this.k', '$named.k')))] }",
        replace: "'$queue'",
      },
    ],
    ground: { ...CALM, ...LEADERS },
  },
  {
    name: 'silent-leader-shut-out',
    breaks: 'the candidate of a silent leader waits behind its own transition',
    edits: [
      {
        file: 'protocol/kinds/election-seats.ts',
        find: "when(isInTransition, standingAs('$holder.candidateId'), [])",
        replace: '[]',
      },
    ],
    ground: {
      ...{ ...LEADERS, isStrict: false, leaseMs: 700, durationMs: 6_000, count: 4 },
      ...{ faults: ['a process stands still'], faultMs: [800, 2_000], pauseMs: 600 },
    },
  },
];
