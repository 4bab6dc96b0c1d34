import type { Mutation } from './mutation.js';

const QUEUED = "{ $concatArrays: ['$queue', [{ k: id, v: waiterOf(rules, request) }]] }";
const QUEUED_FIRST = "{ $concatArrays: [[{ k: id, v: waiterOf(rules, request) }], '$queue'] }";

/** Bugs in what one update does to one document. */
export const PROTOCOL_MUTATIONS: readonly Mutation[] = [
  {
    name: 'dead-holder-stays',
    breaks: 'no expiry filter: a holder or writer whose lease is over keeps its seat',
    edits: [
      {
        file: 'protocol/kinds/lease-slot.ts',
        find: 'live: when(isLive(`$was.${field}.expiresAt`), `$was.${field}`, null),',
        replace: 'live: `$was.${field}`,',
      },
    ],
    trial: 'killed processes',
  },
  {
    name: 'dead-permits-stay',
    breaks: 'no expiry filter: readers and permits whose leases are over keep their seats',
    edits: [
      {
        file: 'protocol/kinds/lease-list.ts',
        find: "live: filter(`$was.${field}`, isLive('$$this.expiresAt')),",
        replace: 'live: `$was.${field}`,',
      },
    ],
    trial: 'killed processes',
  },
  {
    name: 'dead-waiter-stays',
    breaks: 'no expiry filter: a waiter whose time is over keeps its place',
    edits: [
      {
        file: 'protocol/pipeline/transition.ts',
        find: "filter('$before', isLive('$$this.v.expiresAt'))",
        replace: "'$before'",
      },
    ],
    trial: 'killed processes',
  },
  {
    name: 'fence-reset-on-release',
    breaks: 'a release sets the fence back',
    edits: [
      {
        file: 'protocol/pipeline/effects.ts',
        find: '  ...rules.vacate(id),\n',
        replace: '  ...rules.vacate(id),\n  fence: { $toLong: 0 },\n',
      },
    ],
    trial: 'nothing happens',
  },
  {
    name: 'newcomer-first',
    breaks: 'a newcomer is put before the queue instead of behind it',
    edits: [{ file: 'protocol/pipeline/effects.ts', find: QUEUED, replace: QUEUED_FIRST }],
    trial: 'nothing happens',
  },
  {
    name: 'readers-pass-writers',
    breaks: 'a reader is put before those who wait, a writer among them',
    edits: [
      {
        file: 'protocol/pipeline/effects.ts',
        find: QUEUED,
        replace: `request.mode === 'read' ? ${QUEUED_FIRST} : ${QUEUED}`,
      },
    ],
    trial: 'nothing happens',
  },
  {
    name: 'release-by-name',
    breaks: 'a release empties the seat, also one of another holder',
    edits: [
      {
        file: 'protocol/kinds/mutex-rules.ts',
        find: 'vacate: (id) => ({ holder: holder.without([id]) }),',
        replace: 'vacate: () => ({ holder: null }),',
      },
    ],
    trial: 'nothing happens',
  },
  {
    name: 'purge-lowers-fence',
    breaks: 'tokens come from the fence alone, and begin anew with a new document',
    edits: [
      {
        file: 'protocol/expressions.ts',
        find: 'CLOCK_TOKEN: Expression = { $multiply: [{ $toLong: NOW }, 1_000] };',
        replace: 'CLOCK_TOKEN: Expression = { $toLong: 0 };',
      },
    ],
    trial: 'lost documents',
  },
  {
    name: 'permits-not-counted',
    breaks: 'holders of a semaphore are counted instead of their permits',
    edits: [
      {
        file: 'protocol/kinds/semaphore-rules.ts',
        find: "const inUse: Expression = { $sum: '$holders.permits' };",
        replace: "const inUse: Expression = { $size: '$holders' };",
      },
    ],
    trial: 'nothing happens',
  },
  {
    name: 'permits-counted-twice',
    breaks: 'every permit that is held counts twice',
    edits: [
      {
        file: 'protocol/kinds/semaphore-rules.ts',
        find: "const inUse: Expression = { $sum: '$holders.permits' };",
        replace: "const inUse: Expression = { $multiply: [2, { $sum: '$holders.permits' }] };",
      },
    ],
    trial: 'nothing happens',
  },
  {
    name: 'head-does-not-block',
    breaks: 'a waiter of a semaphore who does not fit is passed over while they are counted',
    edits: [
      {
        file: 'protocol/kinds/semaphore-rules.ts',
        find: "{ fitting: '$$value.fitting', remaining: -1 },",
        replace: "{ fitting: '$$value.fitting', remaining: '$$value.remaining' },",
      },
    ],
    trial: 'nothing happens',
  },
  {
    name: 'two-upgraders',
    breaks: 'a second upgradeable reader is let in beside the first',
    edits: [
      {
        file: 'protocol/kinds/reader-writer-rules.ts',
        find: "const hasUpgradeable: Expression = isIn('upgradeable', '$readers.mode');",
        replace: 'const hasUpgradeable: Expression = false;',
      },
    ],
    trial: 'nothing happens',
  },
  {
    name: 'upgrade-does-not-wait',
    breaks: 'an upgrade does not wait for the other readers',
    edits: [
      {
        file: 'protocol/kinds/reader-writer-rules.ts',
        find: 'when(isAlone, upgraded, []),',
        replace: 'upgraded,',
      },
    ],
    trial: 'nothing happens',
  },
  {
    name: 'writer-beside-readers',
    breaks: 'a writer is let in while there are readers',
    edits: [
      {
        file: 'protocol/kinds/reader-writer-rules.ts',
        find: 'when(isWriterFirst, when(readers.isEmpty, 1, 0), readingPrefix)',
        replace: 'when(isWriterFirst, 1, readingPrefix)',
      },
    ],
    trial: 'nothing happens',
  },
  {
    name: 'downgrade-keeps-token',
    breaks: 'a downgrade of a writer gives no new token',
    edits: [
      {
        file: 'protocol/kinds/reader-writer-rules.ts',
        find: "...weaker, token, ...rememberedAt('$writer') };",
        replace: "...weaker, ...rememberedAt('$writer') };",
      },
    ],
    trial: 'nothing happens',
  },
  {
    name: 'hand-off-not-named',
    breaks: 'a grant to somebody else is not announced',
    edits: [
      {
        file: 'protocol/pipeline/admission.ts',
        find: 'wake: rules.entersOne ? grantedOne(toName) : granted(toName),',
        replace: "wake: '$wake',",
      },
    ],
    trial: 'nothing happens, strictly, to a few',
  },
  {
    name: 'not-after-ignored',
    breaks: 'a request takes effect however late it comes',
    edits: [
      {
        file: 'protocol/pipeline/effects.ts',
        find: '    { $lte: [NOW, notAfter] },\n',
        replace: '',
      },
      {
        file: 'protocol/pipeline/fast-path.ts',
        find: '    { $lte: [NOW, own.notAfter] },\n',
        replace: '',
      },
    ],
    trial: 'late requests',
  },
  {
    name: 'transition-lets-anybody-in',
    breaks: 'the seat of a leader that fell silent goes to the first waiter, not to its candidate',
    edits: [
      {
        file: 'protocol/kinds/election-rules.ts',
        find: "when(isInTransition, standingAs('$holder.candidateId'), [])",
        replace: "when(isInTransition, '$queue', [])",
      },
    ],
    trial: 'killed processes',
  },
  {
    name: 'dead-standby-elected',
    breaks: 'a candidate waits with the transition in its lease, and may be elected so long after its death',
    edits: [
      {
        file: 'protocol/pipeline/effects.ts',
        find: '    leaseMs,\n    since: NOW,\n    expiresAt: { $add: [NOW, leaseMs] },\n',
        replace:
          '    leaseMs: leaseMs + (request.transitionMs ?? 0),\n    since: NOW,\n    expiresAt: { $add: [NOW, leaseMs + (request.transitionMs ?? 0)] },\n',
      },
      {
        file: 'protocol/pipeline/admission.ts',
        find: 'return lengthenedBy === null ? path :',
        replace: 'return lengthenedBy !== undefined ? path :',
      },
    ],
    trial: 'nothing happens',
  },
  {
    name: 'transition-added-twice',
    breaks: 'the successor of a leader has two transitions in its lease',
    edits: [
      {
        file: 'protocol/pipeline/admission.ts',
        find: '{ $add: [path, `$$this.v.${lengthenedBy}`] }',
        replace: '{ $add: [path, `$$this.v.${lengthenedBy}`, `$$this.v.${lengthenedBy}`] }',
      },
    ],
    trial: 'nothing happens',
  },
  {
    name: 'handed-over-to-nobody',
    breaks: 'a term is handed over whether the candidate that is named waits or not',
    edits: [
      {
        file: 'protocol/kinds/election-rules.ts',
        find: "all(equal('$holder.id', idText(id)), { $ne: ['$named', []] })",
        replace: "equal('$holder.id', idText(id))",
      },
      {
        file: 'election/hand-over.ts',
        find: 'return document !== undefined && document.meant > 0;',
        replace: 'return document !== undefined;',
      },
    ],
    trial: 'nothing happens',
  },
  {
    name: 'kept-block-not-reserved',
    breaks: 'the tokens that a grant reserves for a seat that is kept are given again',
    edits: [
      {
        file: 'protocol/pipeline/admission.ts',
        find: "reserves ? { $add: [lastToken, mostKept('$granted.keeps')] } : lastToken",
        replace: 'lastToken',
      },
      {
        file: 'protocol/pipeline/fast-path.ts',
        find: "const fence: Expression = reserved === undefined ? '$$token' : { $add: ['$$token', reserved] };",
        replace: "const fence: Expression = '$$token';",
      },
    ],
    trial: 'nothing happens',
  },
  {
    name: 'keepers-not-told',
    breaks: 'a waiter behind a seat that is kept does not tell the process that keeps it',
    edits: [
      {
        file: 'protocol/pipeline/transition.ts',
        find: '      ...tellKeepers(rules, operation),\n',
        replace: '',
      },
    ],
    trial: 'nothing happens',
  },
  {
    name: 'keepers-not-told-of-upgrades',
    breaks: 'an upgrade that waits behind a kept read does not tell the process that keeps it',
    edits: [
      {
        file: 'protocol/pipeline/admission.ts',
        find: "operation.type === 'exchange' ? rules.hasToWait(operation) : null",
        replace: 'null',
      },
    ],
    trial: 'nothing happens',
  },
];
