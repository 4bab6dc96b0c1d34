import type { Edit } from '../../faults/mutations/mutation.js';
import type { Wanted } from '../plan/draw-plan.js';
import { CALM, CRASHES, LATE, LOST, MOVED, STRICT } from './hunting-grounds.js';

/** A bug that only the simulation hunts, because no trial on real servers is made for it. */
export interface SimulatedMutation {
  readonly name: string;
  readonly breaks: string;
  readonly edits: readonly [Edit, ...Edit[]];
  readonly ground: Wanted;
}

const QUORUM: Wanted = { work: ['quorums'] };
const JOBS: Wanted = { work: ['jobs'] };
const LEADERS: Wanted = { work: ['candidates'] };

const QUORUM_MUTATIONS: readonly SimulatedMutation[] = [
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
    ground: { ...CALM, ...QUORUM },
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
    ground: { ...CRASHES, ...QUORUM },
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
    ground: { ...CALM, ...QUORUM },
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
    ground: { ...CALM, ...QUORUM },
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
    ground: { ...MOVED, ...QUORUM },
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
        find: "when(seats.isHeldBy(id), { $max: ['$fence', { $toLong: token }] }, '$fence')",
        replace: "when(seats.isHeldBy(id), '$fence', { $max: ['$fence', { $toLong: token }] })",
      },
    ],
    ground: { ...CALM, ...QUORUM },
  },
];

const JOB_MUTATIONS: readonly SimulatedMutation[] = [
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
    ground: { ...LOST, ...JOBS },
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
        find: "    [any(not(equal(last, after)), { $gte: [last, instant] }), 'outdated'],\n",
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

const ELECTION_MUTATIONS: readonly SimulatedMutation[] = [
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
    ground: { ...CRASHES, ...LEADERS, faults: ['a process stands still'] },
  },
];

const OTHER_MUTATIONS: readonly SimulatedMutation[] = [
  {
    name: 'repeated-request-queued-again',
    breaks: 'a repeat of a request whose grant was not heard is queued again',
    edits: [
      {
        file: 'protocol/pipeline/effects.ts',
        find: 'not(any(seats.isHeldBy(id), isQueued(id))),',
        replace: 'not(isQueued(id)),',
      },
    ],
    ground: { ...LOST, work: ['actors'] },
  },
  {
    name: 'late-change-of-mode-applied',
    breaks: 'a change of mode takes effect although a later change has been applied',
    edits: [
      {
        file: 'protocol/kinds/reader-writer-seats.ts',
        find: 'all(equal(`${at}.id`, idText(id)), { $lt: [{ $ifNull: [`${at}.change`, 0] }, change] });',
        replace: 'all(equal(`${at}.id`, idText(id)), { $lt: [0, change] });',
      },
    ],
    ground: { ...LATE, work: ['actors'], locks: ['reader-writer-a', 'reader-writer-b'] },
  },
  {
    name: 'upgrade-keeps-token',
    breaks: 'a hold that was upgraded reports the token of its read',
    edits: [
      {
        file: 'lease/mode-change/mode-exchange.ts',
        find: '    this.#hold.changed(token);\n',
        replace: '    this.#hold.changed(Math.min(token, this.#hold.token));\n',
      },
    ],
    ground: { ...CALM, work: ['actors'], locks: ['reader-writer-a'] },
  },
  {
    name: 'cancelled-waiter-stays',
    breaks: 'a request whose time is up stays in the queue',
    edits: [
      {
        file: 'protocol/pipeline/effects.ts',
        find: 'return [{ $set: { queue: queueWithout(operation.id) } }];',
        replace: "return [{ $set: { queue: '$queue' } }];",
      },
    ],
    ground: { ...STRICT, work: ['actors'] },
  },
  {
    name: 'try-is-queued',
    breaks: 'a try that finds the lock busy stays in the queue',
    edits: [
      {
        file: 'protocol/pipeline/effects.ts',
        find: "return enqueue(seats, request, [equal('$queue', []), seats.hasRoomFor(request)]);",
        replace: 'return enqueue(seats, request, []);',
      },
    ],
    ground: { ...STRICT, work: ['actors'] },
  },
  {
    name: 'idle-read-not-returned',
    breaks: 'a kept read that nobody uses is forgotten and not given back',
    edits: [
      {
        file: 'lease/seat-cache/cached-reads.ts',
        find: '    this.#forget(idle);\n    this.#context.returnIdle(idle);\n',
        replace: '    this.#forget(idle);\n',
      },
    ],
    ground: { ...STRICT, work: ['actors'], locks: ['read-mostly', 'reader-writer-b'] },
  },
  {
    name: 'idle-seat-not-returned',
    breaks: 'a kept seat that nobody uses is forgotten and not given back',
    edits: [
      {
        file: 'lease/seat-cache/cached-lock.ts',
        find: '    this.#forget(idle);\n    this.#context.returnIdle(idle);\n',
        replace: '    this.#forget(idle);\n',
      },
    ],
    ground: { ...STRICT, work: ['actors'], locks: ['mutex-b', 'semaphore'] },
  },
  {
    name: 'kept-seat-without-deadline',
    breaks: 'a kept seat is passed on although its lease is over',
    edits: [
      {
        file: 'lease/holding/seat.ts',
        find: "return this.#state === 'live' && this.clock.nowMs() < this.#deadline.ms;",
        replace: "return this.#state === 'live';",
      },
      {
        file: 'lease/holding/seat.ts',
        find: 'return { remainingMs: Math.max(0, this.#deadline.ms - this.clock.nowMs()), why: undefined };',
        replace:
          'return { remainingMs: Math.max(this.grant.terms.leaseMs / 2, this.#deadline.ms - this.clock.nowMs()), why: undefined };',
      },
    ],
    ground: {
      ...CRASHES,
      work: ['actors'],
      locks: ['mutex-b'],
      faults: ['a process stands still', 'a process is cut off'],
    },
  },
  {
    name: 'group-leaves-out-the-last',
    breaks: 'the last request of a group is not sent, and counts as applied',
    edits: [
      {
        file: 'store/updates/committer.ts',
        find: 'return updatesOf(sent, this.#store.isSharded);',
        replace: 'return updatesOf(sent.length > 4 ? sent.slice(0, -1) : sent, this.#store.isSharded);',
      },
      {
        file: 'store/updates/committer.ts',
        find: 'const areAllApplied = count === sent.length;',
        replace: 'const areAllApplied = count >= sent.length - (sent.length > 4 ? 1 : 0);',
      },
    ],
    ground: { ...CALM, work: ['bursts'] },
  },
  {
    name: 'refused-group-is-done',
    breaks: 'the operations of a group that changed fewer documents count as done',
    edits: [
      {
        file: 'store/updates/committer.ts',
        find: 'if (areAllApplied && counted !== undefined) statement.settle',
        replace: 'if (counted !== undefined) statement.settle',
      },
    ],
    ground: { ...CALM, work: ['bursts'] },
  },
];

export const NEW_MUTATIONS: readonly SimulatedMutation[] = [
  ...QUORUM_MUTATIONS,
  ...JOB_MUTATIONS,
  ...ELECTION_MUTATIONS,
  ...OTHER_MUTATIONS,
];
