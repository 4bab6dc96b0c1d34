import { MongoClient } from 'mongodb';
import { afterAll, describe, expect, it } from 'vitest';

import { LockProvider } from '../../../src/index.js';
import type { AcquireOptions, LockProviderOptions, PrimitiveOptions } from '../../../src/index.js';
import { pause, rejection, thrown } from '../../../lab/patience.js';

// No server listens there, and nothing may be sent.
const client = new MongoClient('mongodb://127.0.0.1:9', { serverSelectionTimeoutMS: 100 });
const sent: string[] = [];
client.on('serverOpening', () => sent.push('a connection'));
const db = client.db('never');

afterAll(async () => {
  await client.close();
});

const DAY_MS = 86_400_000;
const TEXT_OF_1025_BYTES = '😀'.repeat(256) + 'a';

/** An option, a value of a wrong type or out of range, and words of the rule that the value breaks. */
type Row = readonly [option: string, value: unknown, rule: string];

const numbersOnly = (option: string): Row[] =>
  ['5', true, null, 5n].map((value) => [option, value, 'a number']);

const WRONG_TYPES: readonly Row[] = [
  ...['leaseMs', 'extendEveryMs', 'clockAllowanceMs', 'storeTimeoutMs', 'wakeIdleMs', 'retentionMs'].flatMap(
    numbersOnly,
  ),
  ...numbersOnly('maxMembers'),
  ['pollMs.min', '10', 'a number'],
  ['pollMs.max', '800', 'a number'],
  ['pollMs', 10, 'an object'],
  ['pollMs', 'fast', 'an object'],
  ['collectionName', 7, 'a string'],
  ['collectionName', null, 'a string'],
  ['label', 7, 'a string'],
  ['label', null, 'a string'],
  ['wakeups', true, 'a string'],
  ['createIndexes', 1, 'a boolean'],
  ['createIndexes', 'true', 'a boolean'],
  ['createIndexes', null, 'a boolean'],
];

const OUT_OF_RANGE: readonly Row[] = [
  ...[99, 0, -1, 100.5, DAY_MS + 1, Infinity, NaN].map((value): Row => ['leaseMs', value, 'must be']),
  ...[0, -1, Infinity, NaN].map((value): Row => ['extendEveryMs', value, 'between']),
  ...[-1, NaN].map((value): Row => ['clockAllowanceMs', value, 'between']),
  ...[0, 9, 600_001, Infinity, NaN].map((value): Row => ['storeTimeoutMs', value, 'between']),
  ...[-1, DAY_MS + 1, NaN].map((value): Row => ['wakeIdleMs', value, 'between']),
  ...[59_999, -1, Infinity, NaN].map((value): Row => ['retentionMs', value, 'between 60000']),
  ...[0, 2.5, 100_001, NaN].map((value): Row => ['maxMembers', value, 'must be']),
  ...[0, -1, NaN].map((value): Row => ['pollMs.min', value, 'between']),
  ...[0, 9, NaN, Infinity].map((value): Row => ['pollMs.max', value, 'between']),
  ['collectionName', '', 'name'],
  ['collectionName', 'a$b', 'name'],
  ['collectionName', 'a\0b', 'name'],
  ['collectionName', 'system.locks', 'name'],
  ['wakeups', 'push', 'auto, change-stream, polling'],
  ['wakeups', '', 'auto, change-stream, polling'],
];

/** `{ 'pollMs.min': 1 }` means `{ pollMs: { min: 1 } }`. */
function optionsOf([option, value]: Row): LockProviderOptions {
  const [outer = '', inner] = option.split('.');
  return { [outer]: inner === undefined ? value : { [inner]: value } };
}

const titled = (rows: readonly Row[]): [string, Row][] =>
  rows.map((row) => [
    `${row[0]} = ${typeof row[1] === 'string' ? JSON.stringify(row[1]) : String(row[1])}`,
    row,
  ]);

function expectNamed(error: unknown, [option, value, rule]: Row): void {
  const { message } = error as Error;
  expect(message).toContain(option);
  expect(message).toContain(rule);
  const shown = typeof value === 'string' ? JSON.stringify(value) : String(value);
  expect(message).toContain(shown);
}

describe('a wrong option of a provider', () => {
  it.each(titled(WRONG_TYPES))(
    'with a wrong type is a TypeError that names option, rule and value: %s',
    (_, row) => {
      const error = thrown(() => new LockProvider(db, optionsOf(row)));
      expect(error).toBeInstanceOf(TypeError);
      expectNamed(error, row);
    },
  );

  it.each(titled(OUT_OF_RANGE))(
    'out of range is a RangeError that names option, rule and value: %s',
    (_, row) => {
      const error = thrown(() => new LockProvider(db, optionsOf(row)));
      expect(error).toBeInstanceOf(RangeError);
      expectNamed(error, row);
    },
  );

  it.each([
    ['a pollMs.min above pollMs.max', { pollMs: { min: 900, max: 800 } }, 'pollMs.max'],
    ['an allowance of half a lease', { leaseMs: 1_000, clockAllowanceMs: 500 }, 'clockAllowanceMs'],
    ['a retention of less than two leases', { leaseMs: 60_000, retentionMs: 119_999 }, 'retentionMs'],
    ['a label of 1,025 bytes', { label: TEXT_OF_1025_BYTES }, 'label'],
  ] as const)('is a RangeError if it contradicts another option or is too long: %s', (_, options, named) => {
    const error = thrown(() => new LockProvider(db, options));
    expect(error).toBeInstanceOf(RangeError);
    expect((error as Error).message).toContain(named);
  });

  it.each([null, 5, 'options'])('is a TypeError if the options are no object: %s', (options) => {
    const error = thrown(() => new LockProvider(db, options as LockProviderOptions));
    expect(error).toBeInstanceOf(TypeError);
    expect((error as Error).message).toContain('options');
  });

  it.each([
    ['undefined', undefined],
    ['null', null],
    ['a URI', 'mongodb://127.0.0.1'],
    ['a client', client],
  ])('is a TypeError if the value for the Db is something else: %s', (_, notADb) => {
    const error = thrown(() => new LockProvider(notADb as unknown as typeof db));
    expect(error).toBeInstanceOf(TypeError);
    expect((error as Error).message).toMatch(/\bdb\b/);
  });
});

describe('an option at its bound', () => {
  const allowed: readonly LockProviderOptions[] = [
    {},
    { leaseMs: 100 },
    { leaseMs: DAY_MS },
    { extendEveryMs: 1 },
    { extendEveryMs: DAY_MS },
    { clockAllowanceMs: 0 },
    { leaseMs: 1_000, clockAllowanceMs: 499 },
    { storeTimeoutMs: 10 },
    { storeTimeoutMs: 600_000 },
    { wakeIdleMs: 0 },
    { retentionMs: 60_000 },
    { maxMembers: 1 },
    { maxMembers: 100_000 },
    { pollMs: {} },
    { pollMs: { min: 5_000 } },
    { pollMs: { min: 10, max: 10 } },
    { label: '' },
    { label: '😀'.repeat(256) },
    { wakeups: 'polling' },
    { collectionName: 'a.b-c d' },
    { leaseMs: undefined, label: undefined, pollMs: undefined, createIndexes: undefined },
  ];

  it.each(allowed.map((options) => [JSON.stringify(options).slice(0, 60), options] as const))(
    'is accepted: %s',
    (_, options) => {
      expect(() => new LockProvider(db, options)).not.toThrow();
    },
  );
});

describe('a wrong option or argument', () => {
  const locks = new LockProvider(db);

  it.each([99, DAY_MS + 1, 150.5, NaN])('is a RangeError when the lock is made: leaseMs = %s', (leaseMs) => {
    const error = thrown(() => locks.createMutex('x', { leaseMs }));
    expect(error).toBeInstanceOf(RangeError);
    expectNamed(error, ['leaseMs', leaseMs, 'must be']);
  });

  it.each(['1000', null, {}])('is a TypeError when the lock is made: leaseMs = %j', (leaseMs) => {
    const error = thrown(() => locks.createMutex('x', { leaseMs } as unknown as PrimitiveOptions));
    expect(error).toBeInstanceOf(TypeError);
    expect((error as Error).message).toContain('leaseMs');
  });

  it.each<readonly [AcquireOptions, typeof RangeError | typeof TypeError, string]>([
    [{ leaseMs: 99 }, RangeError, 'leaseMs'],
    [{ leaseMs: '100' } as unknown as AcquireOptions, TypeError, 'leaseMs'],
    [{ why: TEXT_OF_1025_BYTES }, RangeError, 'why'],
    [{ why: 5 } as unknown as AcquireOptions, TypeError, 'why'],
    [{ signal: {} } as unknown as AcquireOptions, TypeError, 'signal'],
    [{ signal: new AbortController() } as unknown as AcquireOptions, TypeError, 'signal'],
    [5_000 as unknown as AcquireOptions, TypeError, 'options'],
    ['5s' as unknown as AcquireOptions, TypeError, 'options'],
    [null as unknown as AcquireOptions, TypeError, 'options'],
  ])('makes the request reject, not throw: %j', async (options, kind, named) => {
    const mutex = locks.createMutex('x');
    const requests = [
      () => mutex.acquire(options),
      () => mutex.tryAcquire(options),
      () => mutex.use(() => 1, options),
      () => locks.acquireMutex('x', options),
    ];
    for (const request of requests) {
      // A request that does not reject would wait for ever for a server that does not exist.
      const accepted = pause(200).then(() => new Error('it was accepted'));
      const error = await Promise.race([rejection(request()), accepted]);
      expect(error).toBeInstanceOf(kind);
      expect((error as Error).message).toContain(named);
    }
  });

  it('makes use() reject: work that is no function', async () => {
    const error = await rejection(locks.createMutex('x').use(42 as unknown as () => number));
    expect(error).toBeInstanceOf(TypeError);
    expect((error as Error).message).toContain('work');
  });

  it.each([-1, NaN, Infinity, '5'])('makes close() reject: drainMs = %s', async (drainMs) => {
    const closable = new LockProvider(db);
    const error = await rejection(closable.close({ drainMs: drainMs as number }));
    expect((error as Error).message).toContain('drainMs');
    await closable.close();
  });

  it('opens no connection', () => {
    expect(sent).toEqual([]);
  });
});
