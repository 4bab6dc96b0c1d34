import { CALM, LOST, STRICT } from './hunting-grounds.js';
import type { SimulatedMutation } from './simulated-mutation.js';

/** Bugs in locks of one replica set, their kept seats and their groups. */
export const OTHER_MUTATIONS: readonly SimulatedMutation[] = [
  {
    name: 'extension-by-two-leases',
    breaks: 'an extension lasts for two leases',
    edits: [
      {
        file: 'protocol/stored-lease.ts',
        find: 'merge(at, { expiresAt: leaseFromNow(`${at}.expiresAt`, `${at}.leaseMs`) });',
        replace:
          'merge(at, { expiresAt: { $add: [leaseFromNow(`${at}.expiresAt`, `${at}.leaseMs`), `${at}.leaseMs`] } });',
      },
    ],
    ground: { ...CALM, work: ['actors'] },
  },
  {
    name: 'free-lock-for-two-leases',
    breaks: 'a lease of a free lock lasts for two leases',
    edits: [
      {
        file: 'protocol/pipeline/fast-path.ts',
        find: '    expiresAt: { $add: [NOW, leaseMs] },',
        replace: '    expiresAt: { $add: [NOW, leaseMs, leaseMs] },',
      },
    ],
    ground: { ...CALM, work: ['actors'] },
  },
  {
    name: 'time-up-three-seconds-late',
    breaks: 'the time of a request is up three seconds late',
    edits: [
      {
        file: 'scope.ts',
        find: 'this.#clock.at(startedMs + boundMs, timeUp)',
        replace: 'this.#clock.at(startedMs + boundMs + 3_000, timeUp)',
      },
    ],
    ground: { ...CALM, work: ['actors'] },
  },
  {
    name: 'repeated-request-queued-again',
    breaks: 'a repeat of a request whose grant was not heard is queued again',
    edits: [
      {
        file: 'protocol/pipeline/effects.ts',
        find: 'not(any(rules.isHeldBy(id), isQueued(id))),',
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
        file: 'protocol/kinds/reader-writer-rules.ts',
        find: 'all(equal(`${at}.id`, idText(id)), { $lt: [{ $ifNull: [`${at}.change`, 0] }, change] });',
        replace: 'all(equal(`${at}.id`, idText(id)), { $lt: [0, change] });',
      },
    ],
    // A hold is changed again while a copy of the change before is on its way.
    ground: {
      ...{ ...CALM, work: ['actors'], locks: ['reader-writer-a'], count: 2, leaseMs: 15_000 },
      ...{ upgradesAgain: true, longHoldPercent: 60, idleMs: 20, durationMs: 10_000 },
      ...{ faults: ['requests come late'], faultMs: [1_600, 2_900], pauseMs: 200 },
    },
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
      // Otherwise the reply shows the place, and the process sends a leave at once.
      {
        file: 'lease/acquiring/attempt.ts',
        find: "fateOf(reply, this.id).type !== 'absent';",
        replace: "fateOf(reply, this.id).type === 'granted';",
      },
    ],
    ground: { ...STRICT, work: ['actors'], count: 3, locks: ['mutex-a'], longHoldPercent: 60 },
  },
  {
    name: 'try-is-queued',
    breaks: 'a try that finds the lock busy stays in the queue',
    edits: [
      {
        file: 'protocol/pipeline/effects.ts',
        find: "return enqueue(rules, request, [equal('$queue', []), rules.hasRoomFor(request)]);",
        replace: 'return enqueue(rules, request, []);',
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
        find: '    this.#idle.delete(idle);\n    this.#context.returnIdle(idle);\n',
        replace: '    this.#idle.delete(idle);\n',
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
          'return { remainingMs: Math.max(this.grant.durations.leaseMs / 2, this.#deadline.ms - this.clock.nowMs()), why: undefined };',
      },
    ],
    ground: {
      ...{ ...CALM, work: ['actors'], locks: ['mutex-b'], count: 3, leaseMs: 700, durationMs: 8_000 },
      ...{ faults: ['a process stands still', 'a process is cut off'], faultMs: [500, 1_500] },
      ...{ pauseMs: 400, idleMs: 5 },
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
    ground: { ...STRICT, work: ['bursts'], count: 2 },
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
    ground: { ...STRICT, work: ['bursts'], count: 2 },
  },
];
