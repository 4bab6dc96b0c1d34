import {
  all,
  any,
  bind,
  equal,
  hasType,
  idText,
  isIn,
  literal,
  merge,
  nextToken,
  not,
  filter,
  typeOf,
  when,
} from '../expressions.js';
import type { Expression, Fields, Stage } from '../expressions.js';
import { arrayOf, leaseList, readShownList } from './lease-list.js';
import { leaseSlot } from './lease-slot.js';
import type { Mode } from '../lock-document.js';
import type { Exchange, Request } from '../operation.js';
import type { KindRules } from '../kind-rules.js';
import { firstTokenAt } from '../stored-lease.js';

const READ_MODES: readonly Mode[] = ['read', 'upgradeable'];

const readers = leaseList('readers');
const writer = leaseSlot('writer', [['mode', 'write']]);

const isFree: Expression = all(writer.isEmpty, readers.isEmpty);

const hasUpgradeable: Expression = isIn('upgradeable', '$readers.mode');

/**
 * Whether an upgrade waits for the other readers to leave. While it waits, no waiter enters, so that new readers cannot
 * keep the upgrade waiting for ever (L1).
 */
const isUpgrading: Expression = isIn(true, '$readers.upgrading');

/** Whether the lease `$$this` has a mode of a reader, and is marked as upgrading only if it is upgradeable. */
const hasReadMode: Expression = all(
  isIn('$$this.mode', READ_MODES),
  any(equal('$$this.mode', 'upgradeable'), { $ne: ['$$this.upgrading', true] }),
);

const hasOneUpgradeableAtMost: Expression = {
  $lte: [{ $size: filter('$readers', equal('$$this.mode', 'upgradeable')) }, 1],
};

const isAlone: Expression = equal({ $size: '$readers' }, 1);

/**
 * How many waiters from the head may read together: those before the first writer, and before an upgradeable waiter
 * that would be the second upgradeable reader. One `write` and two `upgradeable` are added at the end of the modes, so
 * that every search finds its mode.
 */
const readingPrefix: Expression = bind(
  { modes: { $concatArrays: ['$queue.v.mode', ['write', 'upgradeable', 'upgradeable']] } },
  bind(
    { upgradeable: { $indexOfArray: ['$$modes', 'upgradeable'] } },
    {
      $min: [
        { $indexOfArray: ['$$modes', 'write'] },
        when(hasUpgradeable, '$$upgradeable', {
          $indexOfArray: ['$$modes', 'upgradeable', { $add: ['$$upgradeable', 1] }],
        }),
      ],
    },
  ),
);

const isWriterFirst: Expression = equal({ $first: '$queue.v.mode' }, 'write');

/** Keeps the token of the grant in a lease that gets a new token. */
const rememberedAt = (at: string): Fields => ({ firstToken: firstTokenAt(at) });

const upgraded: Expression = bind({ reader: { $first: '$readers' } }, [
  { k: '$$reader.id', v: merge('$$reader', { mode: 'write', ...rememberedAt('$$reader') }) },
]);

/** An upgrade that waits jumps the queue: it enters alone, when the other readers are gone. */
const entering: Expression = when(
  isUpgrading,
  when(isAlone, upgraded, []),
  when(any(equal('$queue', []), not(writer.isEmpty)), [], {
    $slice: ['$queue', when(isWriterFirst, when(readers.isEmpty, 1, 0), readingPrefix)],
  }),
);

/** Any number of readers, at most one of them upgradeable, or one writer alone. */
export const readerWriterRules: KindRules = {
  kind: 'reader-writer',
  keeping: 'shared',
  // A keeper also looks for waiters of other processes in the queue. That search finds neither an upgrade, which has no
  // place in the queue, nor a writer of the keeper's own process. In both cases `writerWaiting` is true.
  endsKeeping: equal('$writerWaiting', true),
  entersOne: false,
  mayOvertake: false,
  // An upgrade is a grant that copies the lease of the reader field by field. So this list also has fields that only a
  // lease has. Without them in the list, the upgraded lease would lose them.
  ownFields: ['mode', 'keeps', 'change', 'firstToken', 'ending', 'endingWhy'],
  lengthenedBy: null,
  vacant: () => ({ readers: [], writer: null, writerWaiting: false }),
  wellFormed: all(
    hasType('$writerWaiting', 'bool'),
    writer.wellFormed,
    readers.wellFormed(hasReadMode),
    hasOneUpgradeableAtMost,
    any(writer.isEmpty, readers.isEmpty),
  ),
  isWaiter: [isIn('$$this.mode', literal([...READ_MODES, 'write']))],
  live: { readers: readers.live, writer: writer.live },
  derived: { writerWaiting: any(isIn('write', '$queue.v.mode'), isUpgrading) },
  stored: { $concatArrays: [readers.stored, writer.stored] },
  leasesIn: (document) => [
    ...arrayOf(document['readers']),
    ...(document['writer'] === null ? [] : [document['writer']]),
  ],
  shown: (ids) => ({ readers: readers.shown(ids), writer: 1, writerWaiting: 1 }),
  readShown: (document) => {
    const { writer: stored, writerWaiting } = document;
    const shown = { ...readShownList(document['readers']), writerWaiting };
    // A writer has no readers beside it. So `leases` has all leases, and `count` and `earliest` are left out.
    return stored === null ? shown : { leases: [...shown.leases, stored], writerWaiting };
  },
  leases: { $concatArrays: ['$readers', writer.leases] },
  count: { $add: [readers.count, writer.count] },
  isHeldBy: (id) => any(readers.has(id), writer.has(id)),
  tokenOf: (id) => ({ $add: [readers.tokenOf(id), writer.tokenOf(id)] }),
  entering,
  enteringFromQueue: when(isUpgrading, 0, { $size: '$entering' }),
  hasToWait: (operation) => (operation.type === 'exchange' ? isHeldBack(operation) : null),
  conditions: () => [],
  requestFields: ({ mode = 'write' }) => ({ mode }),
  beforeQueued: () => [],
  hasRoomFor,
  occupy: (leases) => {
    const isWriter = equal({ $first: `${leases}.mode` }, 'write');
    return {
      writer: when(isWriter, { $first: leases }, '$writer'),
      readers: when(isWriter, [], { $concatArrays: ['$readers', leases] }),
    };
  },
  vacate: (id) => ({ readers: readers.without(id), writer: writer.without([id]) }),
  evict: (ids) => ({ readers: readers.withoutAll(ids), writer: writer.without(ids) }),
  extend: (ids) => ({ readers: readers.extended(ids), writer: writer.extended(ids) }),
  markEnding: (ids, why) => ({
    readers: readers.markedEnding(ids, why),
    writer: writer.markedEnding(ids, why),
  }),
  uncontended: {
    vacant: [
      ['$readers', []],
      [typeOf('$writer'), 'null'],
      ['$writerWaiting', false],
    ],
    conditions: () => [],
    taken: (lease, { mode = 'write' }) => (mode === 'write' ? { writer: lease } : { readers: [lease] }),
    fields: { readers: { $slice: 1 }, writer: 1 },
    // A held lock has either a writer or readers. `$readers.id` is an array: `[id]` if there is one reader. So the
    // value is compared with each id twice, as `id` and as `[id]`.
    heldByOneOf: (ids) =>
      all(
        isIn(
          { $ifNull: ['$writer.id', '$readers.id'] },
          ids.flatMap((id) => [id, [id]]),
        ),
        equal('$writerWaiting', false),
      ),
    id: { $ifNull: ['$writer.id', { $first: '$readers.id' }] },
    token: { $ifNull: ['$writer.token', { $first: '$readers.token' }] },
    expiresAt: { $ifNull: ['$writer.expiresAt', { $first: '$readers.expiresAt' }] },
    vacated: { readers: [], writer: null },
  },
  own: (operation) => {
    if (operation.type !== 'exchange') return [];
    return operation.to === 'write' ? upgrade(operation) : downgrade(operation, operation.to);
  },
};

function hasRoomFor({ mode }: Request): Expression {
  switch (mode) {
    case 'read':
      return all(writer.isEmpty, not(isUpgrading));
    case 'upgradeable':
      return all(writer.isEmpty, not(hasUpgradeable));
    case 'write':
    case undefined:
      return isFree;
  }
}

/**
 * Whether the lease at this path is the one whose mode the exchange changes. A lease in which the number of this change
 * or of a later change is stored stays as it is.
 */
const isTarget = (at: string, { id, change }: Exchange): Expression =>
  all(equal(`${at}.id`, idText(id)), { $lt: [{ $ifNull: [`${at}.change`, 0] }, change] });

/** The readers, with these fields set in the upgradeable lease that the exchange concerns. */
const readersWith = (exchange: Exchange, changed: Fields): Expression => ({
  $map: {
    input: '$readers',
    in: when(
      all(equal('$$this.mode', 'upgradeable'), isTarget('$$this', exchange)),
      merge('$$this', { change: exchange.change, ...changed }),
      '$$this',
    ),
  },
});

/**
 * Whether this upgrade still waits, or was a try without success: the lease has the number of this change and is still
 * a reader. `null`: the exchange is no upgrade.
 */
const isHeldBack = ({ id, change, to }: Exchange): Expression | null =>
  to === 'write'
    ? not(equal(filter('$readers', all(equal('$$this.id', idText(id)), equal('$$this.change', change))), []))
    : null;

/**
 * Marks the lease as upgrading. The admission that follows makes it the writer if it is the only reader. A try that
 * finds other readers sets no mark, but stores the number of its change. Otherwise a late copy of the try could make
 * the lease the writer after the try had failed (S2).
 */
function upgrade(exchange: Exchange): readonly Stage[] {
  const { change, waits, knownToken = 0 } = exchange;
  const upgrading = waits ? true : isAlone;
  // A stored token above `knownToken` comes from an earlier upgrade of this hold. The change stream may still report
  // that token to the process, and the reported token must be the stored one. So the lease keeps it.
  const token = when({ $lte: ['$writer.token', knownToken] }, nextToken(), '$writer.token');
  return [
    {
      $set: {
        readers: readersWith(exchange, { upgrading }),
        // The lease may be the writer already: an earlier upgrade was granted, or a downgrade never arrived. The
        // number of this change is stored all the same, so that a late cancel or downgrade does nothing.
        writer: when(
          isTarget('$writer', exchange),
          merge('$writer', { change, token, ...rememberedAt('$writer') }),
          '$writer',
        ),
      },
    },
    { $set: { fence: { $max: ['$fence', '$writer.token'] } } },
  ];
}

function downgrade(exchange: Exchange, to: Mode): readonly Stage[] {
  const token = nextToken();
  const weaker = { mode: to, upgrading: false };
  const isWriter = isTarget('$writer', exchange);
  const changed = { change: exchange.change, ...weaker, token, ...rememberedAt('$writer') };
  // The cancel of an upgrade that was not granted leaves the lease upgradeable and keeps its token.
  const reader = readersWith(
    exchange,
    to === 'read' ? { ...weaker, token, ...rememberedAt('$$this') } : weaker,
  );
  return [
    {
      $set: {
        readers: when(isWriter, [merge('$writer', changed)], reader),
        writer: when(isWriter, null, '$writer'),
      },
    },
    // A new token is above the fence, and every other token is at most the fence. So the maximum is the new token, or
    // the fence if the downgrade gave no new token.
    { $set: { fence: { $max: ['$fence', { $max: '$readers.token' }] } } },
  ];
}
