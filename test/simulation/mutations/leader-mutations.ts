import type { Wanted } from '../plan/wanted.js';
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
  {
    name: 'delay-cut-short',
    breaks: 'a job with a fixed delay is due after half of its delay',
    edits: [
      {
        file: 'schedule/schedule.ts',
        find: 'Math.max(lastMs, endedMs) + everyMs;',
        replace: 'Math.max(lastMs, endedMs) + everyMs / 2;',
      },
    ],
    ground: { ...CALM, ...JOBS, schedule: 'fixed-delay' },
  },
  {
    name: 'delay-from-the-instant',
    breaks: 'a job with a fixed delay counts from the instant of a run, not from its end',
    edits: [
      {
        file: 'schedule/schedule.ts',
        find: 'Math.max(lastMs, endedMs) + everyMs;',
        replace: 'Math.max(lastMs, Math.min(lastMs, endedMs)) + everyMs;',
      },
    ],
    ground: { ...CALM, ...JOBS, schedule: 'fixed-delay' },
  },
  {
    name: 'cron-off-its-instants',
    breaks: 'a job by cron is due after the instants of its expression',
    edits: [
      {
        file: 'schedule/cron-schedule.ts',
        find: 'cron.nextRun(new Date(ms))?.getTime() ?? null;',
        replace: '(cron.nextRun(new Date(ms))?.getTime() ?? 0) + 137;',
      },
    ],
    ground: { ...CALM, ...JOBS, schedule: 'cron' },
  },
  {
    name: 'run-answered-before-its-claim',
    breaks: 'a call for a run is answered as soon as it is stored, and not when the run is claimed',
    edits: [
      {
        file: 'schedule/run-request.ts',
        find: '    if (claimed >= number) return;\n',
        replace: '    if (claimed >= 0) return;\n',
      },
    ],
    ground: { ...CALM, ...JOBS },
  },
  {
    name: 'anchor-moves-with-each-claim',
    breaks: 'the instants of a job count from its last claim, and not from the first one',
    edits: [
      {
        file: 'protocol/jobs/job-claims.ts',
        find: "anchor: { $ifNull: [{ $first: '$own.anchor' }, anchor] },",
        replace: 'anchor,',
      },
      {
        file: 'schedule/term-claims.ts',
        find: 'this.#last = { lastMs: instantMs, anchorMs: this.#last?.anchorMs ?? anchorMs };',
        replace: 'this.#last = { lastMs: instantMs, anchorMs };',
      },
      {
        file: 'schedule/job-term.ts',
        find: 'anchorMs: this.#firstMs ?? instantMs',
        replace: 'anchorMs: instantMs',
      },
    ],
    ground: { ...CALM, work: ['jobs'], durationMs: 6_000 },
  },
];

const OBSERVED: Wanted = { work: ['candidates', 'observers'] };

export const ELECTION_MUTATIONS: readonly SimulatedMutation[] = [
  {
    name: 'handed-to-the-first',
    breaks: 'a term that is handed over goes to the first candidate of the queue',
    edits: [
      {
        file: 'protocol/kinds/election-rules.ts',
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
        file: 'protocol/kinds/election-rules.ts',
        find: "when(isInTransition, standingAs('$holder.candidateId'), [])",
        replace: '[]',
      },
    ],
    ground: {
      ...{ ...LEADERS, isStrict: false, leaseMs: 700, durationMs: 6_000, count: 4 },
      ...{ faults: ['a process stands still'], faultMs: [800, 2_000], pauseMs: 600 },
    },
  },
  {
    name: 'observer-not-told',
    breaks: 'an observer does not look when its stream shows a change of the election',
    edits: [
      {
        file: 'election/leader-watch.ts',
        find: 'if (words === null || !onlyClaims(words)) this.#readLeaders();',
        replace: 'if (words === null) this.#readLeaders();',
      },
    ],
    ground: { ...CALM, ...OBSERVED },
  },
  {
    name: 'vacancy-not-shown',
    breaks: 'an observer is not told that nobody leads',
    edits: [
      {
        file: 'election/leader-watch.ts',
        find: 'if (isNews) for (const observer of known.observers) observer.show(leader);',
        replace:
          'if (isNews && leader !== null) for (const observer of known.observers) observer.show(leader);',
      },
    ],
    ground: { ...CALM, ...OBSERVED },
  },
  {
    name: 'observer-told-late',
    breaks: 'an observer looks only half a second after its stream shows a change of the election',
    edits: [
      {
        file: 'election/leader-watch.ts',
        find: 'if (words === null || !onlyClaims(words)) this.#readLeaders();',
        replace:
          'if (words === null || !onlyClaims(words)) this.#clock.at(this.#clock.nowMs() + 500, () => this.#readLeaders());',
      },
    ],
    ground: { ...CALM, ...OBSERVED },
  },
];
