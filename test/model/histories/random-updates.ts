import fc from 'fast-check';

import type { LockKind, Mode } from '../../../src/protocol/lock-document.js';
import type { Demand } from '../../../src/protocol/operation.js';
import type { Event, PlannedOperation, Target, When } from './planned-operation.js';
import { PROCESSES } from './planned-operation.js';

/** Random histories of one lock, weighted so that everything that can happen to a lock of its kind does happen. */

const ATTEMPTS = Array.from({ length: 8 }, (_, index) => `w${index}`);
const DAY_MS = 86_400_000;

const target: fc.Arbitrary<Target> = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...ATTEMPTS) },
  { weight: 2, arbitrary: fc.constantFrom('holder', 'last', 'other') },
  { weight: 2, arbitrary: fc.constant('head') },
);
const targets = fc.array(target, { minLength: 1, maxLength: 3, size: 'max' });
const leaseMs = fc.constantFrom(100, 30_000, 30_000, 30_000, DAY_MS);
const retentionMs = fc.constantFrom(7 * DAY_MS, 7 * DAY_MS, 2 * DAY_MS, 30 * DAY_MS, 60 * DAY_MS);
const nonce = fc.stringMatching(/^[0-9a-f]{4}$/);
const text = fc.option(fc.constantFrom('nightly', '$holder', '$$NOW', 'a.b', '__proto__', '', '🔒'), {
  nil: undefined,
});
const always = <T>(times: number, value: T): readonly T[] => Array.from({ length: times }, () => value);
const notAfterMs = fc.constantFrom(...always(13, 60_000), 0, -1, -DAY_MS);

/** How many tokens a request reserves beyond its own. */
type Keeps = fc.Arbitrary<number | undefined>;

const keepsNothing: Keeps = fc.constant(undefined);
const mayKeep: Keeps = fc.constantFrom(undefined, undefined, 0, 1, 999, 999);

/** In a reader-writer lock the number only marks a kept read. */
const keepsReads: Keeps = fc.constantFrom(undefined, undefined, 0, 1, 1, 999);

/** The demands and the operations of one kind of lock. */
interface Variety {
  readonly demand: fc.Arbitrary<Demand>;
  readonly keeps: Keeps;
  /** How the expiry of a lease or of a place is moved. */
  readonly lapses: readonly When[];
  /** Updates whose operations belong together. Independent random operations would produce them too rarely. */
  readonly scenes: readonly fc.Arbitrary<readonly PlannedOperation[]>[];
  readonly own: readonly { readonly weight: number; readonly arbitrary: fc.Arbitrary<PlannedOperation> }[];
}

const exchange = (
  weight: number,
  who: fc.Arbitrary<Target>,
  to: readonly Mode[],
  change: readonly ('next' | number)[] = ['next', 'next', 'next', 'next', 1, 2],
): Variety['own'][number] => ({
  weight,
  arbitrary: fc.record({
    type: fc.constant('exchange'),
    target: who,
    change: fc.constantFrom(...change),
    to: fc.constantFrom(...to),
    waits: fc.constantFrom(true, true, true, false),
  }),
});

const request = (demand: fc.Arbitrary<Demand>, keeps: Keeps): fc.Arbitrary<PlannedOperation> =>
  fc
    .record({
      type: fc.constantFrom('enqueue', 'enqueue', 'enqueue', 'try'),
      target: fc.constantFrom(...ATTEMPTS),
      leaseMs,
      notAfterMs,
      maxMembers: fc.constantFrom(...always(9, 10_000), 2, 3, 4),
      retentionMs,
      label: text,
      why: text,
      keeps,
      demand,
    })
    // No lease is longer than a day, its transition included.
    .map((asked) => ({
      ...asked,
      leaseMs: Math.min(asked.leaseMs, DAY_MS - (asked.demand.transitionMs ?? 0)),
    }));

/** A kept read, an upgradeable read beside it, and its upgrade. */
const keptReadScene = fc.tuple(
  request(fc.constant({ mode: 'read' }), fc.constant(1)),
  request(fc.constant({ mode: 'upgradeable' }), keepsNothing),
  exchange(1, fc.constant('upgradeable'), ['write'], ['next', 'next', 1]).arbitrary,
);

/** An upgradeable read, a read, the upgrade, and one more request. */
const upgradeScene = fc.tuple(
  request(fc.constant({ mode: 'upgradeable' }), keepsNothing),
  request(fc.constant({ mode: 'read' }), keepsNothing),
  exchange(1, fc.constant('upgradeable'), ['write']).arbitrary,
  request(fc.record({ mode: fc.constantFrom<Mode>('read', 'read', 'write') }), keepsNothing),
);

const limit = fc.constantFrom(1, 2, 3, 3, 4);
/** In about half of the cases, less than the permits that are held. */
const mostlySmallLimit = fc.constantFrom(1, 1, 1, 2, 3, 4);

const LAPSES: readonly When[] = ['past', 'past', 'now', 'ahead'];

const ONE_SEAT: Variety = {
  demand: fc.constant({}),
  keeps: mayKeep,
  lapses: LAPSES,
  scenes: [],
  // Operations of other kinds, which change nothing.
  own: [
    exchange(1, target, ['write', 'read']),
    {
      weight: 1,
      arbitrary: fc.record({ type: fc.constant('handOver'), target, candidateId: fc.constant('a') }),
    },
    { weight: 1, arbitrary: fc.record({ type: fc.constant('resize'), limit, notAfterMs }) },
  ],
};

/** Few enough that candidates meet. One of them looks like an expression. */
const candidateId = fc.constantFrom('a', 'a', 'b', 'c', '$holder.id');

const candidacy: fc.Arbitrary<Demand> = fc.record({
  candidateId,
  value: fc.constantFrom('', 'http://10.0.0.7', '$$NOW'),
  transitionMs: fc.constantFrom(0, 0, 1, 30_000, 30_000, DAY_MS / 2),
});

const handOver = (weight: number, who: fc.Arbitrary<Target>): Variety['own'][number] => ({
  weight,
  arbitrary: fc.record({ type: fc.constant('handOver'), target: who, candidateId }),
});

const job = fc.constantFrom('mail', 'mail', '$holder', 'a.b', '__proto__', '');

/** Claims, some of them repeated, early, or without knowledge of the last one. */
const claim: fc.Arbitrary<PlannedOperation> = fc.record({
  type: fc.constant('claim'),
  target: fc.oneof({ weight: 4, arbitrary: fc.constant('holder') }, { weight: 1, arbitrary: target }),
  isPresent: fc.constantFrom(...always(7, true), false),
  job,
  inMs: fc.constantFrom(-60_000, -1, -1, 0, 60_000),
  isInformed: fc.constantFrom(true, true, true, false),
  claimId: fc.constantFrom('c1', 'c2', 'c3', '$fence'),
  runs: fc.boolean(),
  call: fc.constantFrom<('last' | 'none' | undefined)[]>(undefined, undefined, 'last', 'last', 'none'),
  nonce,
});

const claimWithoutTerm: fc.Arbitrary<PlannedOperation> = fc.record({
  type: fc.constant('claimWithoutTerm'),
  job,
  inMs: fc.constantFrom(-60_000, -1, -1, 0, 60_000),
  isLast: fc.constantFrom(true, false, false),
  claimId: fc.constantFrom('c1', 'c2', 'c3', '$fence'),
  nonce,
});

const conclude: fc.Arbitrary<PlannedOperation> = fc.record({
  type: fc.constant('conclude'),
  target: fc.oneof({ weight: 4, arbitrary: fc.constant('holder') }, { weight: 1, arbitrary: target }),
  job,
  isInformed: fc.constantFrom(true, true, true, false),
  outcome: fc.constantFrom('completed', 'failed', 'missed'),
  nonce,
});

/** Calls, some of them over when they arrive, or soon after. */
const call: fc.Arbitrary<PlannedOperation> = fc.record({
  type: fc.constant('call'),
  job,
  since: fc.constantFrom('last', 'last', 'last', 'before', 'look'),
  forMs: fc.constantFrom(60_000, 60_000, 60_000, 30, -1),
  nonce,
});

const ELECTION: Variety = {
  demand: candidacy,
  keeps: keepsNothing,
  lapses: [...LAPSES, 'silent', 'silent'],
  scenes: [fc.array(request(candidacy, keepsNothing), { minLength: 2, maxLength: 4 })],
  own: [
    handOver(7, fc.constant('holder')),
    handOver(1, target),
    { weight: 6, arbitrary: claim },
    { weight: 3, arbitrary: claimWithoutTerm },
    { weight: 3, arbitrary: conclude },
    { weight: 4, arbitrary: call },
    { weight: 1, arbitrary: fc.record({ type: fc.constant('resize'), limit, notAfterMs }) },
  ],
};

const permitDemand: fc.Arbitrary<Demand> = fc
  .record({
    permits: fc.constantFrom(1, 1, 1, 2, 2, 3, 3),
    limit,
    about: fc.constantFrom('nothing', 'nothing', 'nothing', 'match', 'set'),
  })
  .map(({ permits, limit: named, about }) => ({
    ...{ permits, limit: named },
    ...(about === 'match' ? { mustMatch: true } : {}),
    ...(about === 'set' ? { setsLimit: true } : {}),
  }));

/** Several requests in a row, for more permits than there are. */
const crowdScene = fc.array(request(permitDemand, mayKeep), { minLength: 3, maxLength: 4 });

/** Behind a holder of all permits, two requests that fit in together and have different reserves. */
const unlikePairScene = fc.tuple(
  request(fc.constant({ permits: 2, limit: 2, setsLimit: true }), mayKeep),
  request(fc.constant({ permits: 1, limit: 2 }), fc.constant(999)),
  request(fc.constant({ permits: 1, limit: 2 }), keepsNothing),
);

/** A request alone in its update, so that it may find an idle lock with an earlier limit. */
const matchScene = fc.tuple(
  request(fc.record({ permits: fc.constant(1), limit, mustMatch: fc.constant(true) }), mayKeep),
);

const VARIETIES: Readonly<Record<LockKind, Variety>> = {
  mutex: ONE_SEAT,
  election: ELECTION,
  'reader-writer': {
    demand: fc.record({
      mode: fc.constantFrom<Mode>('read', 'read', 'read', 'upgradeable', 'upgradeable', 'write'),
    }),
    keeps: keepsReads,
    lapses: LAPSES,
    scenes: [upgradeScene, keptReadScene],
    own: [
      exchange(3, fc.constant('upgradeable'), ['write']),
      exchange(2, fc.constant('upgradeable'), ['upgradeable', 'upgradeable', 'read']),
      exchange(2, fc.constant('writer'), ['upgradeable', 'read']),
      exchange(1, target, ['read', 'upgradeable', 'write'], ['next', 1, 2, 3, 2_147_483_647]),
      { weight: 1, arbitrary: fc.record({ type: fc.constant('resize'), limit, notAfterMs }) },
    ],
  },
  semaphore: {
    demand: permitDemand,
    keeps: mayKeep,
    lapses: LAPSES,
    scenes: [crowdScene, unlikePairScene, matchScene],
    own: [
      {
        weight: 4,
        arbitrary: fc.record({ type: fc.constant('resize'), limit: mostlySmallLimit, notAfterMs }),
      },
      exchange(1, target, ['write', 'read']),
    ],
  },
};

const raiseFence: fc.Arbitrary<PlannedOperation> = fc.record({
  type: fc.constant('raiseFence'),
  target,
  by: fc.constantFrom(-1_000_000, 0, 1, 1_000, 1_000_000_000),
  nonce,
});

const operation = ({ demand, keeps, own }: Variety): fc.Arbitrary<PlannedOperation> =>
  fc.oneof(
    { weight: 14, arbitrary: request(demand, keeps) },
    { weight: 5, arbitrary: fc.record({ type: fc.constant('leave'), target }) },
    { weight: 2, arbitrary: fc.record({ type: fc.constant('cancel'), target }) },
    {
      weight: 2,
      arbitrary: fc.record({ type: fc.constant('extend'), targets, leaseMs, retentionMs, nonce }),
    },
    { weight: 1, arbitrary: fc.record({ type: fc.constant('ask'), targets, why: text }) },
    { weight: 1, arbitrary: fc.record({ type: fc.constant('evict'), targets }) },
    { weight: 1, arbitrary: raiseFence },
    ...own,
  );

const event = (variety: Variety): fc.Arbitrary<Event> =>
  fc.oneof(
    {
      weight: 28,
      arbitrary: fc.record({
        type: fc.constant('update'),
        process: fc.constantFrom(...PROCESSES),
        operations: fc.oneof(
          { weight: 4, arbitrary: fc.array(operation(variety), { maxLength: 4, size: 'max' }) },
          { weight: 2, arbitrary: fc.tuple(operation(variety)) },
          ...variety.scenes.map((arbitrary) => ({ weight: 2, arbitrary })),
        ),
        takingOver: fc.constantFrom(false, false, true),
        short: fc.constantFrom(true, true, false),
      }),
    },
    { weight: 3, arbitrary: fc.record({ type: fc.constant('extension'), targets, leaseMs, retentionMs }) },
    {
      weight: 5,
      arbitrary: fc.record({
        type: fc.constant('lapse'),
        target: fc.oneof(fc.constantFrom('holder', 'last', 'head', 'other'), target),
        when: fc.constantFrom(...variety.lapses),
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({ type: fc.constant('fence-ahead'), by: fc.constantFrom(1, 7, 1_000_000_000) }),
    },
    { weight: 1, arbitrary: fc.constant({ type: 'delete' }) },
    {
      weight: 1,
      arbitrary: fc.record({ type: fc.constant('other-kind'), which: fc.nat(), isLive: fc.boolean() }),
    },
    { weight: 1, arbitrary: fc.record({ type: fc.constant('corruption'), which: fc.nat() }) },
  );

/** A history of up to `maxLength` events of one lock of this kind. */
export const history = (kind: LockKind, maxLength: number): fc.Arbitrary<readonly Event[]> =>
  fc.array(event(VARIETIES[kind]), { minLength: 1, maxLength, size: 'max' });
