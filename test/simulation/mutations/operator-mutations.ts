import type { Wanted } from '../plan/wanted.js';
import type { Operation } from '../plan/plan.js';
import { CALM } from './hunting-grounds.js';
import type { SimulatedMutation } from './simulated-mutation.js';

/** Three processes, and an operator that does this. Some holds last so long that their processes have to hear of it. */
const operated = (...operations: readonly Operation[]): Wanted => ({
  ...{ ...CALM, work: ['actors', 'operators'], count: 3, longHoldPercent: 40 },
  operations,
});

export const OPERATOR_MUTATIONS: readonly SimulatedMutation[] = [
  {
    name: 'resize-ignored',
    breaks: 'a resize is answered, and changes no limit',
    edits: [
      {
        file: 'protocol/kinds/semaphore-rules.ts',
        find: "operation.type === 'resize' ? resize({ $lte: [NOW, operation.notAfter] }, operation.limit) : [],",
        replace: "operation.type === 'resize' ? resize(not(true), operation.limit) : [],",
      },
    ],
    ground: operated('resize'),
  },
  {
    name: 'late-resize-applied',
    breaks: 'a resize takes effect however late it comes',
    edits: [
      {
        file: 'protocol/kinds/semaphore-rules.ts',
        find: "operation.type === 'resize' ? resize({ $lte: [NOW, operation.notAfter] }, operation.limit) : [],",
        replace: "operation.type === 'resize' ? resize(true, operation.limit) : [],",
      },
    ],
    ground: {
      ...{ ...operated('resize'), locks: ['semaphore'], faults: ['requests come late'], pauseMs: 600 },
      ...{ faultMs: [3_200, 5_000], durationMs: 8_000 },
    },
  },
  {
    name: 'limit-lowered-empties-a-seat',
    breaks: 'a lower limit takes the seats of those that are one too many',
    edits: [
      {
        file: 'protocol/kinds/semaphore-rules.ts',
        find: "        limit: when(condition, limit, '$limit'),",
        replace:
          "        limit: when(condition, limit, '$limit'),\n        holders: when(condition, { $slice: ['$holders', limit] }, '$holders'),",
      },
    ],
    ground: { ...operated('resize'), locks: ['semaphore'] },
  },
  {
    name: 'asked-and-not-marked',
    breaks: 'a polite revocation is answered, and does not mark the lease',
    edits: [
      {
        file: 'protocol/pipeline/effects.ts',
        find: '{ ...rules.markEnding(ids, why), wake: tell(rules, ids) };',
        replace: '{ wake: tell(rules, ids) };',
      },
    ],
    ground: operated('ask all'),
  },
  {
    name: 'revocation-not-recorded',
    breaks: 'no record says who has revoked a hold, and why',
    edits: [
      {
        file: 'protocol/pipeline/revocation.ts',
        find: '  if (by === undefined) return [];\n',
        replace: '  if (by !== null) return [];\n',
      },
    ],
    ground: operated('evict all'),
  },
  {
    name: 'revoked-lease-extended',
    breaks: 'a lease is extended although it is marked as ending',
    edits: [
      {
        file: 'protocol/stored-lease.ts',
        find: 'all(isLive(`${at}.expiresAt`), { $ne: [`${at}.ending`, true] });',
        replace: 'isLive(`${at}.expiresAt`);',
      },
    ],
    ground: operated('ask all'),
  },
  {
    name: 'revocation-of-all',
    breaks: 'a revocation of one hold revokes every hold of the lock',
    edits: [
      {
        file: 'admin/inspector.ts',
        find: 'id === undefined ? held : held.filter((each) => each === id);',
        replace: 'held;',
      },
    ],
    ground: operated('evict one'),
  },
  {
    name: 'first-hold-for-all',
    breaks: 'a revocation of all holds revokes the first one alone',
    edits: [
      {
        file: 'admin/inspector.ts',
        find: 'id === undefined ? held : held.filter((each) => each === id);',
        replace: 'id === undefined ? held.slice(0, 1) : held.filter((each) => each === id);',
      },
    ],
    ground: operated('evict all'),
  },
  {
    name: 'revocation-of-none',
    breaks: 'a revocation of one hold does nothing, and its answer names no hold',
    edits: [
      {
        file: 'admin/inspector.ts',
        find: 'if (rules === undefined || ids.length === 0) return {',
        replace: 'if (rules === undefined || ids.length === 0 || id !== undefined) return {',
      },
    ],
    ground: operated('ask one'),
  },
  {
    name: 'revocation-of-terms-not-recorded',
    breaks: 'no record says who has asked a leader to release, and why',
    edits: [
      {
        file: 'protocol/pipeline/revocation.ts',
        find: '  if (by === undefined) return [];\n',
        replace: "  if (by === undefined || (rules.kind === 'election' && !forced)) return [];\n",
      },
    ],
    ground: { ...operated('ask all'), work: ['candidates', 'operators'] },
  },
  {
    name: 'revoker-not-told',
    breaks: 'a holder is not told who has revoked its hold',
    edits: [
      {
        file: 'lease/holding/loss.ts',
        find: "by === undefined ? '' : ` by ${by}`",
        replace: "by !== null ? '' : ` by ${String(by)}`",
      },
    ],
    ground: operated('ask all'),
  },
  {
    name: 'why-revoked-not-told',
    breaks: 'a holder is not told why its hold was revoked',
    edits: [
      {
        file: 'lease/holding/loss.ts',
        find: "why === undefined ? '' : ` for ",
        replace: "why !== null ? '' : ` for ",
      },
    ],
    ground: operated('evict all'),
  },
  {
    name: 'revocation-fails',
    breaks: 'a revocation fails although its update was applied',
    edits: [
      {
        file: 'admin/inspector.ts',
        find: "    if (outcome.type !== 'done') throw unavailable(name, isKnown(outcome), outcome.error);\n    const named",
        replace:
          "    if (force || outcome.type !== 'done') throw unavailable(name, isKnown(outcome), new Error());\n    const named",
      },
    ],
    ground: operated('evict all'),
  },
  {
    name: 'request-to-release-not-told',
    breaks: 'a holder that is asked to release does not hear of it',
    edits: [
      {
        file: 'lease/holding/lease-extender.ts',
        find: '    if (ending !== true) {',
        replace: '    if (ending !== null) {',
      },
    ],
    ground: operated('ask all'),
  },
  {
    name: 'eviction-not-told',
    breaks: 'a holder that was evicted hears of it only when its lease would have ended',
    edits: [
      {
        file: 'lease/holding/lease-extender.ts',
        find: "      else seat.lose('evicted', revocationOf(document.revoked, seat.grant.token));\n",
        replace: "      else return { type: 'extended' };\n",
      },
    ],
    ground: operated('evict all'),
  },
  {
    name: 'eviction-of-leaders-not-told',
    breaks: 'a leader that was evicted hears of it only when its lease would have ended',
    edits: [
      {
        file: 'lease/holding/lease-extender.ts',
        find: "      else seat.lose('evicted', revocationOf(document.revoked, seat.grant.token));\n",
        replace:
          "      else if (seat.grant.rules.kind === 'election') return { type: 'extended' };\n      else seat.lose('evicted', revocationOf(document.revoked, seat.grant.token));\n",
      },
    ],
    ground: { ...operated('evict all'), work: ['jobs', 'operators'] },
  },
  {
    name: 'eviction-counts-as-extension',
    breaks: 'a holder that was evicted counts on one more lease before it hears of that',
    edits: [
      {
        file: 'lease/holding/lease-extender.ts',
        find: "      else seat.lose('evicted', revocationOf(document.revoked, seat.grant.token));\n",
        replace: `      else if (again.has(seat)) seat.lose('evicted', revocationOf(document.revoked, seat.grant.token));
      else {
        again.add(seat);
        const { leaseMs } = seat.grant.durations;
        const expiresAt = new Date(document.nowMs + leaseMs);
        seat.extendTo(deadlineOf({ expiresAt, leaseMs } as Lease, document.nowMs));
        return { type: 'extended' };
      }
`,
      },
      {
        file: 'lease/holding/lease-extender.ts',
        find: '/** Extends a batch of seats on the server and applies the answer to each seat. */\n',
        replace: 'const again = new WeakSet<Seat>();\n',
      },
    ],
    ground: { ...operated('evict all'), faults: ['replies are late'], pauseMs: 300, durationMs: 6_000 },
  },
  {
    name: 'revocation-of-new-names-ignored',
    breaks: 'a revocation of the holds of a new name does nothing, and its answer names no hold',
    edits: [
      {
        file: 'admin/inspector.ts',
        find: 'if (rules === undefined || ids.length === 0) return {',
        replace: "if (rules === undefined || ids.length === 0 || name.startsWith('new ')) return {",
      },
    ],
    ground: {
      ...{ ...operated('ask all', 'evict all'), work: ['actors', 'bursts', 'operators'] },
      ...{ locks: ['mutex-a'], reachesNewNames: true },
    },
  },
];
