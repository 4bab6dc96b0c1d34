import { Decimal128, Double, Int32, Long, MaxKey, MinKey, ObjectId, Timestamp } from 'mongodb';

import type { StoredDocument } from './lock-document-driver.js';

/** Stands for a field that is not there. */
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

/** What no lock document may hold in a field, by the path of the field. */
const ILLEGAL: Readonly<Record<string, readonly unknown[]>> = {
  kind: [...noString, '', 'turnstile', 'Mutex', ['mutex']],
  v: [MISSING, null, '1', 0, 2, -1, 1.5, NaN, Infinity, true, [1], {}, far, Long.MAX_VALUE, new MinKey()],
  fence: noToken,
  queue: [...noObject, [{ k: 'w1', v: {} }]],
  wake: noString,
  purgeAt: noDate,
  holder: noObject.filter((value) => value !== null),
  'holder.id': noString,
  'holder.process': noString,
  'holder.token': noToken,
  'holder.leaseMs': noLease,
  'holder.acquiredAt': noDate,
  'holder.expiresAt': noDate,
  'queue.w1': noObject.filter((value) => value !== MISSING),
  'queue.w1.process': noString,
  'queue.w1.leaseMs': noLease,
  'queue.w1.expiresAt': noDate,
};

/** Held by `wh` of p0; `w1` of p1 and `w2` of p0 wait. Times are given, so that the dead may be among them. */
export function lockDocument(name: string, holderEnds = far, waitersEnd = far): StoredDocument {
  const member = { process: 'p0', leaseMs: new Int32(30_000) };
  const waiter = { ...member, since: past, expiresAt: waitersEnd };
  const grant = { token: Long.fromNumber(5_000_000), acquiredAt: past };
  return {
    ...{ _id: name, kind: 'mutex', v: new Int32(1), fence: Long.fromNumber(5_000_000) },
    holder: { id: 'wh', ...member, expiresAt: holderEnds, ...grant },
    queue: { w1: { ...waiter, process: 'p1' }, w2: waiter },
    ...{ wake: ' p0:wh:5000000', purgeAt: far },
  };
}

/** The document with another value at a path. */
export function withValue(document: StoredDocument, path: string, value: unknown): StoredDocument {
  return changed(document, path.split('.'), value) as StoredDocument;
}

function changed(object: unknown, [field = '', ...rest]: readonly string[], value: unknown): object {
  const entries = Object.entries(object ?? {});
  const known = entries.some(([key]) => key === field) ? entries : [...entries, [field, undefined] as const];
  return Object.fromEntries(
    known.flatMap(([key, old]): (readonly [string, unknown])[] => {
      if (key !== field) return [[key, old]];
      if (rest.length > 0) return [[key, changed(old, rest, value)]];
      return value === MISSING ? [] : [[key, value]];
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

export interface Corruption {
  readonly path: string;
  readonly value: unknown;
  readonly words: string;
}

/** Every illegal value in every field. */
export const CORRUPTIONS: readonly Corruption[] = Object.entries(ILLEGAL).flatMap(([path, values]) =>
  values.map((value) => ({ path, value, words: `${path} = ${shown(value)}` })),
);

/** Paths at which anything might be put. */
export const PATHS = [
  ...Object.keys(ILLEGAL),
  ...['queue.w2', 'queue.w1.since', 'holder.label', 'holder.ending'],
  ...['readers', 'writer', 'writer.expiresAt', 'holders', 'limit'],
];
