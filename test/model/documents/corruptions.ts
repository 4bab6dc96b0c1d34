import { Decimal128, Double, Int32, Long, MaxKey, MinKey, ObjectId, Timestamp } from 'mongodb';

import type { LockKind } from '../../../src/protocol/lock-document.js';
import type { StoredDocument } from './lock-document-driver.js';

/** Stands for a missing field. */
export const MISSING = Symbol('missing');

const far = new Date(Date.now() + 3_600_000);
const past = new Date(Date.now() - 3_600_000);

const stamp = new Timestamp({ t: 1, i: 1 });
const odd = [new ObjectId(), new MinKey(), new MaxKey()];
const decimals = ['NaN', '-Infinity', '1E+6144'].map((text) => Decimal128.fromString(text));

const noObject = [MISSING, null, 'x', 7, NaN, true, [], far];
const noString = [MISSING, null, 7, NaN, true, [], ['x'], {}, far, ...odd];
const noDate = [
  ...[MISSING, null, far.toISOString(), far.getTime(), Long.fromNumber(far.getTime()), NaN, Infinity, -1],
  ...[true, [far], {}, { $date: far }, stamp, ...odd],
];
const noToken = [
  ...[
    MISSING,
    null,
    '7',
    7,
    7.5,
    new Double(7),
    NaN,
    Infinity,
    -Infinity,
    true,
    [],
    [Long.ONE],
    {},
    far,
    stamp,
  ],
  ...[Long.NEG_ONE, Long.MIN_VALUE, Long.MAX_VALUE, Long.fromString('9007199254740992'), ...decimals, ...odd],
];
const noLease = [
  ...[MISSING, null, '30000', NaN, Infinity, -Infinity, 0, -1, 99, 86_400_001, 1e300, 30_000.5, true, []],
  ...[[30_000], {}, far, stamp, Long.MAX_VALUE, Long.MIN_VALUE, ...decimals, ...odd],
];

const noList = [MISSING, null, 'x', 7, NaN, true, {}, { 0: {} }, far, new ObjectId()];
const noMember = [null, 'x', 7, true, [], far, {}];
const noMode = [MISSING, null, '', 'Read', 'turnstile', 7, true, [], ['read'], {}];
const noCount = [
  ...[MISSING, null, '3', 0, -1, -2_147_483_648, 2_147_483_648, 2.5, 1e300, NaN, Infinity, -Infinity],
  ...[true, [3], {}, far, stamp, new Double(3), Long.fromNumber(3), Long.fromNumber(2_147_483_648)],
  ...[Long.MAX_VALUE, Long.NEG_ONE, ...decimals, Decimal128.fromString('3'), ...odd],
];

const noTransition = [
  ...[MISSING, null, '3', -1, -2_147_483_648, 86_400_001, 2.5, 1e300, NaN, Infinity, -Infinity, true],
  ...[[3], {}, far, stamp, new Double(3), Long.fromNumber(3), Long.MAX_VALUE, Long.NEG_ONE],
  ...[...decimals, Decimal128.fromString('3'), ...odd],
];

const noReserve = [
  ...[null, '1', '', -1, -2_147_483_648, 1_001, 2_147_483_647, 0.5, 1e300, NaN, Infinity, -Infinity],
  ...[true, false, [], [1], {}, far, stamp, new Double(1), Long.ONE, Long.MAX_VALUE, Long.MIN_VALUE],
  ...[...decimals, Decimal128.fromString('1'), ...odd],
];

type Illegal = Readonly<Record<string, readonly unknown[]>>;

const member = (path: string): Illegal => ({
  [`${path}.process`]: noString,
  [`${path}.leaseMs`]: noLease,
  [`${path}.expiresAt`]: noDate,
});

const lease = (path: string): Illegal => ({
  ...member(path),
  [`${path}.id`]: noString,
  [`${path}.token`]: noToken,
  [`${path}.acquiredAt`]: noDate,
});

const candidate = (path: string): Illegal => ({
  [`${path}.candidateId`]: noString,
  [`${path}.value`]: noString,
  [`${path}.transitionMs`]: noTransition,
});

const noInstant = [...noDate, new Date(-1), new Date(8.64e15)];

const claim = (path: string): Illegal => ({
  [`${path}.job`]: noString,
  [`${path}.instant`]: noInstant,
  [`${path}.claimId`]: noString,
  [`${path}.anchor`]: noInstant,
  [`${path}.run`]: noObject.filter((value) => value !== MISSING),
  [`${path}.run.instant`]: noInstant,
  [`${path}.run.startedAt`]: noInstant,
  [`${path}.run.term`]: noString,
  [`${path}.run.process`]: noString,
  [`${path}.run.candidateId`]: noString,
  [`${path}.run.outcome`]: noString.filter((value) => value !== MISSING),
  [`${path}.run.endedAt`]: noInstant.filter((value) => value !== MISSING),
});

const noNumber = noCount.filter((value) => value !== 0);

const call = (path: string): Illegal => ({
  [`${path}.job`]: noString,
  [`${path}.asked`]: noNumber,
  [`${path}.claimed`]: [...noNumber, new Int32(8)],
  [`${path}.until`]: noDate,
});

const notNull = (value: unknown): boolean => value !== null;

/** The illegal values of the fields of a lock document, by the path of the field. */
const ILLEGAL: Readonly<Record<LockKind, Illegal>> = {
  // All kinds check the fields that they share by the same expression, so one kind is enough.
  mutex: {
    kind: [...noString, '', 'turnstile', 'Mutex', ['mutex']],
    v: [MISSING, null, '1', 0, 2, -1, 1.5, NaN, Infinity, true, [1], {}, far, Long.MAX_VALUE, new MinKey()],
    fence: noToken,
    queue: [...noObject, [{ k: 'w1', v: {} }]],
    wake: noString,
    purgeAt: noDate,
    holder: noObject.filter(notNull),
    ...lease('holder'),
    'queue.w1': noObject.filter((value) => value !== MISSING),
    ...member('queue.w1'),
    'queue.w1.keeps': noReserve,
  },
  'reader-writer': {
    readers: noList,
    'readers.0': noMember,
    ...lease('readers.1'),
    'readers.1.mode': [...noMode, 'write'],
    writer: noObject.filter(notNull),
    writerWaiting: [MISSING, null, 'yes', 0, 1, NaN, [], [true], {}, far],
    ...lease('writer'),
    'writer.mode': [...noMode, 'read', 'upgradeable'],
    'queue.w1.mode': noMode,
    'queue.w2.mode': noMode,
  },
  semaphore: {
    holders: noList,
    'holders.0': noMember,
    ...lease('holders.1'),
    'holders.1.permits': noCount,
    limit: noCount,
    'queue.w1.permits': noCount,
    'queue.w2.permits': noCount,
    'queue.w2.keeps': noReserve,
  },
  election: {
    holder: noObject.filter(notNull),
    ...candidate('holder'),
    ...candidate('queue.w1'),
    ...candidate('queue.w2'),
    claims: noList.filter((value) => value !== MISSING),
    'claims.0': noMember,
    ...claim('claims.0'),
    'claims.1.job': ['mail'],
    calls: noList.filter((value) => value !== MISSING),
    'calls.0': noMember,
    ...call('calls.0'),
    'calls.1.job': ['mail'],
  },
};

/** When the leases and the places of a document expire. */
export interface Lives {
  readonly holdersEnd?: Date;
  readonly waitersEnd?: Date;
}

/**
 * A lock that `wh` of p0 holds, with `wr` beside it if the kind has several seats. `w1` of p1 and `w2` of p0 wait. In an
 * election they stand as a, b and c. The caller gives the expiries, so members can have expired.
 */
export function lockDocument(
  kind: LockKind,
  name: string,
  { holdersEnd = far, waitersEnd = far }: Lives = {},
): StoredDocument {
  const own = (mode: string, permits: number, candidateId: string) => {
    const ofKind = {
      mutex: {},
      'reader-writer': { mode },
      semaphore: { permits: new Int32(permits) },
      election: { candidateId, value: '', transitionMs: new Int32(0) },
    };
    return ofKind[kind];
  };
  const both = { process: 'p0', leaseMs: new Int32(30_000) };
  const grant = { token: Long.fromNumber(5_000_000), acquiredAt: past, expiresAt: holdersEnd };
  const waiter = { ...both, since: past, expiresAt: waitersEnd };
  const holder = { id: 'wh', ...both, ...grant, ...own('upgradeable', 1, 'a') };
  const other = { ...holder, id: 'wr', ...own('read', 2, 'a') };
  const seats = {
    mutex: { holder },
    'reader-writer': { readers: [{ ...holder, upgrading: true }, other], writer: null, writerWaiting: true },
    semaphore: { limit: new Int32(3), holders: [holder, other] },
    election: { holder, claims: ['mail', 'report'].map(claimOf), calls: ['mail', 'report'].map(callOf) },
  };
  return {
    ...{ _id: name, kind, v: new Int32(1), fence: Long.fromNumber(5_000_000) },
    ...seats[kind],
    queue: {
      w1: { ...waiter, process: 'p1', ...own('write', 2, 'b') },
      w2: { ...waiter, ...own('read', 1, 'c') },
    },
    ...{ wake: ' p0:wh:5000000', purgeAt: far },
  };
}

const claimOf = (job: string) => {
  const ended = { outcome: 'completed', endedAt: past };
  const run = { instant: past, startedAt: past, term: 'w0', process: 'p0', candidateId: 'a', ...ended };
  return { job, instant: past, claimId: 'c', anchor: past, run };
};

const callOf = (job: string) => ({ job, asked: new Int32(7), claimed: new Int32(7), until: past });

/** The same lock without holders and waiters. */
export function idleDocument(kind: LockKind, name: string): StoredDocument {
  const seats = {
    mutex: { holder: null },
    'reader-writer': { readers: [], writerWaiting: false },
    semaphore: { holders: [] },
    election: { holder: null },
  };
  return { ...lockDocument(kind, name), ...seats[kind], queue: {} };
}

/** The document with another value at a path. For a path in the writer, the document has this writer alone. */
export function withValue(document: StoredDocument, path: string, value: unknown): StoredDocument {
  const { readers } = document as { readers?: readonly object[] };
  const isOfWriter = path.startsWith('writer.') && readers?.[0] !== undefined;
  const written = isOfWriter ? { writer: { ...readers[0], mode: 'write' }, readers: [] } : {};
  return changed({ ...document, ...written }, path.split('.'), value) as StoredDocument;
}

function changed(object: unknown, [field = '', ...rest]: readonly string[], value: unknown): unknown {
  const next = (old: unknown): unknown => (rest.length > 0 ? changed(old, rest, value) : value);
  if (Array.isArray(object)) {
    const list: readonly unknown[] = object;
    const index = Math.min(Number(field), list.length);
    return [...list.slice(0, index), next(list[index]), ...list.slice(index + 1)];
  }
  const entries = Object.entries((object ?? {}) as Readonly<Record<string, unknown>>);
  const known = entries.some(([key]) => key === field) ? entries : [...entries, [field, undefined] as const];
  return Object.fromEntries(
    known.flatMap(([key, old]): (readonly [string, unknown])[] => {
      const is = key === field ? next(old) : old;
      return is === MISSING ? [] : [[key, is]];
    }),
  );
}

const shown = (value: unknown): string => {
  if (typeof value === 'symbol') return 'missing';
  if (typeof value === 'number') return String(value);
  const type =
    typeof value === 'object' && value !== null && !Array.isArray(value) ? value.constructor.name : '';
  return `${type === 'Object' ? '' : type} ${JSON.stringify(value)}`.trim();
};

/** Where a strange `keeps` does no harm, because no computation uses it. A kept read reserves no tokens. */
const UNUSED_RESERVES: Readonly<Record<LockKind, readonly string[]>> = {
  mutex: ['holder.keeps'],
  'reader-writer': ['readers.0.keeps', 'queue.w1.keeps'],
  semaphore: ['holders.1.keeps'],
  election: ['holder.keeps'],
};

/** Reserves that no process writes, and that do no harm. */
export const strangeReservesOf = (kind: LockKind): readonly Corruption[] =>
  UNUSED_RESERVES[kind].flatMap((path) =>
    noReserve.map((value) => ({ path, value, words: `${path} = ${shown(value)}` })),
  );

export interface Corruption {
  readonly path: string;
  readonly value: unknown;
  readonly words: string;
}

/** Every illegal value in every field. */
export const corruptionsOf = (kind: LockKind): readonly Corruption[] =>
  Object.entries(ILLEGAL[kind]).flatMap(([path, values]) =>
    values.map((value) => ({ path, value, words: `${path} = ${shown(value)}` })),
  );

/** All paths at which a test may put any value. */
export const pathsOf = (kind: LockKind): readonly string[] => [
  ...Object.keys({ ...ILLEGAL.mutex, ...ILLEGAL[kind] }),
  ...[
    'queue.w2',
    'queue.w1.since',
    'holder.label',
    'holder.ending',
    'readers.0.upgrading',
    'readers.0.change',
    'holder.keeps',
    'holders.0.keeps',
    'queue.w1.keeps',
  ],
  ...['readers', 'writer', 'writer.expiresAt', 'writer.change', 'holders', 'limit'],
];
