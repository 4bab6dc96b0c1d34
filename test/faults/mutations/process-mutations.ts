import type { Mutation } from './mutation.js';

/** Bugs in how a process treats the answers of the store, and in what it sends to the store. */
export const PROCESS_MUTATIONS: readonly Mutation[] = [
  {
    name: 'lease-counted-from-reply',
    breaks: 'a lease is counted from the reply instead of from the request',
    edits: [
      {
        file: 'store/store-calls.ts',
        find: "return { type: 'done', value, sentAt };",
        replace: "return { type: 'done', value, sentAt: momentNow(this.#clock) };",
      },
    ],
    trial: 'late replies',
  },
  {
    name: 'allowance-forgotten',
    breaks: 'a hold lasts until its expiry, without an allowance for clocks that differ',
    edits: [
      {
        file: 'options/provider-options.ts',
        find: '    clockAllowanceMs,\n    retentionMs: Math.max',
        replace: '    clockAllowanceMs: 0,\n    retentionMs: Math.max',
      },
    ],
    trial: 'skewed failovers',
  },
  {
    name: 'cancel-forgets-grant',
    breaks: 'a grant that comes while its request is cancelled is forgotten',
    edits: [
      {
        file: 'lease/acquiring/acquisition.ts',
        find: "    if (first?.type === 'granted' && !place.hasLapsed) return this.#accept(first, true);\n",
        replace:
          "    if (first?.type === 'granted' && !place.hasLapsed) {\n      attempt.forget();\n      throw this.#reportTimeout();\n    }\n",
      },
      {
        file: 'lease/waiting/waiting-room.ts',
        find: 'if (remember && !hasLease) this.#ended.add(id, { rules, leaseMs: storedLeaseMs(durations) });',
        replace: '',
      },
    ],
    trial: 'nothing happens, strictly',
  },
  {
    name: 'lost-reply-is-failure',
    breaks: 'a request without an answer counts as refused',
    edits: [
      {
        file: 'store/outcome.ts',
        find: "return { type: 'unknown', error, maybeApplied: !notApplied };",
        replace: "return { type: 'refused', error, byServer: notApplied };",
      },
    ],
    trial: 'lost replies',
  },
  {
    name: 'extension-revives',
    breaks: 'a hold whose deadline has passed is told lost, and held again after a late extension',
    edits: [
      {
        file: 'lease/holding/seat.ts',
        find: "return this.#state === 'live' && this.clock.nowMs() < this.#deadline.ms;",
        replace: "return this.#state === 'live';",
      },
      {
        file: 'lease/holding/seat.ts',
        find: "this.clock.nowMs() >= this.#deadline.ms) this.lose('expired');",
        replace: 'this.clock.nowMs() >= this.#deadline.ms) for (const hold of this.#holds) hold.tellEnd();',
      },
      {
        file: 'lease/holding/seat.ts',
        find: "this.lose.bind(this, 'expired'));",
        replace: '() => this.#holds.forEach((hold) => hold.tellEnd()));',
      },
      {
        file: 'lease/holding/hold.ts',
        find: "if (this.#state === 'lost' && this.#ended !== undefined) observer?.lost(this.#ended);",
        replace: "if (this.#state !== 'released') observer?.lost(this.#ended ?? 'expired');",
      },
    ],
    trial: 'long cuts',
  },
  {
    name: 'loss-without-timer',
    breaks: 'a hold whose deadline has passed is not held, but nobody is told that it is lost',
    edits: [
      {
        file: 'lease/holding/seat.ts',
        find: "    if (this.#state === 'live' && this.clock.nowMs() >= this.#deadline.ms) this.lose('expired');\n",
        replace: '',
      },
      {
        file: 'lease/holding/seat.ts',
        find: "    this.#timer = this.clock.at(this.#deadline.ms, this.lose.bind(this, 'expired'));\n",
        replace: '',
      },
    ],
    trial: 'long cuts',
  },
  {
    name: 'nothing-extended',
    breaks: 'no lease is extended when it is due',
    edits: [
      {
        file: 'lease/holding/watched-seat.ts',
        find: 'return Math.max(confirmedMs + extendEveryMs, clock.nowMs());',
        replace: 'return Infinity;',
      },
    ],
    trial: 'nothing happens, short leases',
  },
  {
    name: 'release-not-repeated',
    breaks: 'a release whose outcome is unknown is not repeated',
    edits: [
      {
        file: 'lease/holding/release-queue.ts',
        find: 'isOver: () => this.#closed,',
        replace: 'isOver: () => true,',
      },
    ],
    trial: 'short cuts',
  },
  {
    name: 'leave-not-final',
    breaks: 'a leave is not sent again past the not-after of an unanswered copy of the request',
    edits: [
      {
        file: 'lease/holding/release-queue.ts',
        find: '    void this.#outlast(leftover, left);\n',
        replace: '',
      },
    ],
    trial: 'late requests, in time',
  },
  {
    name: 'update-events-ignored',
    breaks: 'a wake-up in a document that is logged as a difference is not seen',
    edits: [
      {
        file: 'store/streams/wake-stream.ts',
        find: "{ 'updateDescription.updatedFields.wake': namesUs },",
        replace: '',
      },
    ],
    trial: 'nothing happens, strictly, to a few',
  },
  {
    name: 'no-look-after-opening',
    breaks: 'nobody looks for what was missed when the wake stream is open again',
    edits: [
      {
        file: 'lease/waiting/waiting-room.ts',
        find: '    for (const lock of this.#locks.values()) lock.look();\n',
        replace: '',
      },
    ],
    trial: 'broken streams',
  },
  {
    name: 'w-1',
    breaks: 'a write counts when one member has it',
    edits: [
      {
        file: 'store/lock-collection.ts',
        find: "const WRITE_CONCERN = { w: 'majority', j: true } as const;",
        replace: 'const WRITE_CONCERN = { w: 1, j: true } as const;',
      },
    ],
    trial: 'an isolated primary',
  },
  {
    name: 'all-or-some',
    breaks: 'acquireAll keeps what it has when it fails',
    edits: [
      {
        file: 'primitives/all-or-nothing.ts',
        find: '.map((handle) => handle.release())',
        replace: '.map((handle) => handle.isHeld)',
      },
    ],
    trial: 'nothing happens, strictly',
  },
  {
    name: 'fenced-without-comparison',
    breaks: 'a fenced update compares no tokens',
    edits: [
      {
        file: 'fencing/guarded-update.ts',
        find: 'const guarded = both(this.#filter, this.#notAbove);',
        replace: 'const guarded = this.#filter;',
      },
    ],
    trial: 'stopped writers',
  },
  {
    name: 'fenced-without-token',
    breaks: 'a fenced update does not store its token',
    edits: [
      {
        file: 'fencing/token-field.ts',
        find: 'return { ...others, $set: { ...$set, [field]: token } };',
        replace: 'return { ...others, $set: { ...$set } };',
      },
    ],
    trial: 'stopped writers',
  },
  {
    name: 'cursor-not-killed',
    breaks: 'the server is not told that a wake stream is over',
    edits: [
      {
        file: 'store/streams/stream-cursor.ts',
        find: '    await this.answered;\n',
        replace: '    this.#readable.destroy();\n',
      },
    ],
    trial: 'killed cursors',
  },
  {
    name: 'passed-with-the-same-token',
    breaks: 'a seat that is kept is passed on with the token of the hold before',
    edits: [
      {
        file: 'lease/holding/seat.ts',
        find: '(this.keeper?.sharesToken === true ? 0 : this.#uses)',
        replace: '0',
      },
    ],
    trial: 'nothing happens',
  },
  {
    name: 'passed-beyond-the-bound',
    breaks: 'a seat that is kept passes more often than allowed while another process waits',
    edits: [
      {
        file: 'lease/seat-cache/bounded-passes.ts',
        find: 'this.#count < passes && ',
        replace: '',
      },
    ],
    trial: 'nothing happens to passes, strictly',
  },
  {
    name: 'passes-counted-anew',
    breaks: 'every further waiter of another process begins the count of passes anew',
    edits: [
      {
        file: 'lease/seat-cache/bounded-passes.ts',
        find: '    this.#sinceMs ??= this.#clock.nowMs();\n',
        replace: '    this.#sinceMs ??= this.#clock.nowMs();\n    this.#count = 0;\n',
      },
    ],
    trial: 'nothing happens to passes, strictly',
  },
  {
    name: 'kept-read-past-deadline',
    breaks: 'the readers of a kept read count on a whole lease from now, whatever its deadline',
    edits: [
      {
        file: 'lease/holding/seat.ts',
        find: 'Math.max(0, this.#deadline.ms - this.clock.nowMs())',
        replace:
          'this.keeper?.sharesToken === true ? this.grant.durations.leaseMs : Math.max(0, this.#deadline.ms - this.clock.nowMs())',
      },
    ],
    trial: 'killed readers',
  },
  {
    name: 'kept-read-goes-on',
    breaks: 'a process goes on sharing its kept read although it was told of a writer that waits',
    edits: [
      {
        file: 'lease/seat-cache/cached-reads.ts',
        find: 'this.#others.isNone && this.#askedWrites === 0',
        replace: 'this.#askedWrites === 0',
      },
      {
        file: 'lease/seat-cache/cached-reads.ts',
        find: '    if (this.#shared?.isIdle === true) this.returnIdle(this.#shared);\n',
        replace: '',
      },
    ],
    trial: 'nothing happens to readers, strictly',
  },
  {
    name: 'far-keeper-never-reads',
    breaks: 'a keeper that has stopped listening does not read its kept locks',
    edits: [
      {
        file: 'lease/seat-cache/keeper-watch.ts',
        find: '} else if (this.#isDeaf || this.#isQuiet()) void this.#read();',
        replace: '} else if (this.#isUnused) this.#listenNoMore();',
      },
    ],
    trial: 'nothing happens to a lock that is seldom wanted, strictly',
  },
  {
    name: 'term-given-back-at-work',
    breaks: 'a term is given back before its onElected has ended',
    edits: [
      {
        file: 'election/term.ts',
        find: 'const isInTime = callbacks.isIdle || (await within(clock, drainMs, callbacks.idle(), signal)) === true;',
        replace: 'const isInTime = true;',
      },
      {
        file: 'election/callbacks.ts',
        find: 'const vacated = this.isIdle ? end() : Promise.all(this.#works).then(end);',
        replace:
          'const work = Promise.all(this.#works);\n    const vacated = vacate();\n' +
          '    void this.#begin(() => work.then(() => this.#options.onDeposed(term, why)));',
      },
    ],
    trial: 'nothing happens',
  },
];
