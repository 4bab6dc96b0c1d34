import { MongoClient } from 'mongodb';
import { afterAll, describe, expect, it } from 'vitest';

import { LockProvider } from '../../../src/index.js';
import type { AcquireOptions, PrimitiveOptions, SemaphoreOptions } from '../../../src/index.js';
import { later, pause, rejection, thrown } from '../../../lab/patience.js';
import { BAD_LIMITS } from './bad-limits.js';

// No server listens there, and nothing may be sent.
const client = new MongoClient('mongodb://127.0.0.1:9', { serverSelectionTimeoutMS: 100 });
const sent: string[] = [];
client.on('serverOpening', () => sent.push('a connection'));
const locks = new LockProvider(client.db('never'));

afterAll(async () => {
  await client.close();
});

const DAY_MS = 86_400_000;
const TEXT_OF_1025_BYTES = '😀'.repeat(256) + 'a';

type Kind = typeof TypeError | typeof RangeError;

const MAKERS: readonly (readonly [string, (name: string, options?: PrimitiveOptions) => unknown])[] = [
  ['createReaderWriterLock', (name, options) => locks.createReaderWriterLock(name, options)],
  ['createSemaphore', (name, options) => locks.createSemaphore(name, 5, options)],
];

const BAD_NAMES: readonly (readonly [unknown, Kind])[] = [
  ['', RangeError],
  ['a'.repeat(1_025), RangeError],
  ['a\uD83D', TypeError],
  [undefined, TypeError],
  [null, TypeError],
  [42, TypeError],
];

const BAD_PRIMITIVE_OPTIONS: readonly (readonly [unknown, Kind, string])[] = [
  [{ leaseMs: 99 }, RangeError, 'leaseMs'],
  [{ leaseMs: DAY_MS + 1 }, RangeError, 'leaseMs'],
  [{ leaseMs: 150.5 }, RangeError, 'leaseMs'],
  [{ leaseMs: '1000' }, TypeError, 'leaseMs'],
  [{ leaseMs: null }, TypeError, 'leaseMs'],
  [null, TypeError, 'options'],
  [5, TypeError, 'options'],
];

function expectRefused(run: () => unknown, kind: Kind, named: string): void {
  const error = thrown(run);
  expect(error).toBeInstanceOf(kind);
  expect((error as Error).message).toMatch(new RegExp(`^${named} must `));
}

describe.each(MAKERS)('%s', (_, make) => {
  it.each(BAD_NAMES)('throws on an invalid name: %j', (name, kind) => {
    expectRefused(() => make(name as string), kind, 'name');
  });

  it.each(BAD_PRIMITIVE_OPTIONS)('throws on an invalid option: %j', (options, kind, named) => {
    expectRefused(() => make('x', options as PrimitiveOptions), kind, named);
  });

  it('accepts options at their bounds, and missing options', () => {
    for (const options of [{ leaseMs: 100 }, { leaseMs: DAY_MS }, { leaseMs: undefined }, {}, undefined]) {
      expect(() => make('x', options)).not.toThrow();
    }
  });
});

describe('createSemaphore', () => {
  it.each([...BAD_LIMITS, [{ limit: 5 }, TypeError] as const])(
    'throws on an invalid limit: %s',
    (limit, kind) => {
      expectRefused(() => locks.createSemaphore('x', limit as number), kind, 'limit');
    },
  );

  it.each([1, 2 ** 31 - 1])('accepts a limit at its bound, and shows it: %s', (limit) => {
    expect(locks.createSemaphore('x', limit).limit).toBe(limit);
  });

  it.each([
    ['ignore', RangeError],
    ['', RangeError],
    [true, TypeError],
    [null, TypeError],
  ] as const)('throws on an invalid whenLimitDiffers: %j', (whenLimitDiffers, kind) => {
    const options = { whenLimitDiffers } as unknown as SemaphoreOptions;
    expectRefused(() => locks.createSemaphore('x', 5, options), kind, 'whenLimitDiffers');
  });

  it.each(['throw', 'follow', 'resize', undefined] as const)('accepts whenLimitDiffers: %s', (way) => {
    expect(() => locks.createSemaphore('x', 5, { whenLimitDiffers: way })).not.toThrow();
  });
});

const lock = locks.createReaderWriterLock('x');
const semaphore = locks.createSemaphore('x', 5);
const requests: readonly (readonly [string, (options: AcquireOptions) => Promise<unknown>])[] = [
  ['acquireRead', (options) => lock.acquireRead(options)],
  ['acquireWrite', (options) => lock.acquireWrite(options)],
  ['acquireUpgradeableRead', (options) => lock.acquireUpgradeableRead(options)],
  ['tryAcquireRead', (options) => lock.tryAcquireRead(options)],
  ['tryAcquireWrite', (options) => lock.tryAcquireWrite(options)],
  ['tryAcquireUpgradeableRead', (options) => lock.tryAcquireUpgradeableRead(options)],
  ['useRead', (options) => lock.useRead(() => 1, options)],
  ['useWrite', (options) => lock.useWrite(() => 1, options)],
  ['useUpgradeableRead', (options) => lock.useUpgradeableRead(() => 1, options)],
  ['acquire of a semaphore', (options) => semaphore.acquire(options)],
  ['tryAcquire of a semaphore', (options) => semaphore.tryAcquire(options)],
  ['use of a semaphore', (options) => semaphore.use(() => 1, options)],
  ['acquireAll', (options) => locks.acquireAll([{ write: lock }], options)],
  ['tryAcquireAll', (options) => locks.tryAcquireAll([{ write: lock }], options)],
];

const BAD_REQUEST_OPTIONS: readonly (readonly [unknown, Kind, string])[] = [
  [{ timeoutMs: -1 }, RangeError, 'timeoutMs'],
  [{ timeoutMs: Number.NaN }, RangeError, 'timeoutMs'],
  [{ timeoutMs: -Infinity }, RangeError, 'timeoutMs'],
  [{ timeoutMs: '200' }, TypeError, 'timeoutMs'],
  [{ timeoutMs: null }, TypeError, 'timeoutMs'],
  [{ signal: {} }, TypeError, 'signal'],
  [{ signal: new AbortController() }, TypeError, 'signal'],
  [{ leaseMs: 99 }, RangeError, 'leaseMs'],
  [{ leaseMs: '100' }, TypeError, 'leaseMs'],
  [{ why: TEXT_OF_1025_BYTES }, RangeError, 'why'],
  [{ why: 5 }, TypeError, 'why'],
  [5_000, TypeError, 'options'],
  ['5s', TypeError, 'options'],
  [null, TypeError, 'options'],
];

describe.each(requests)('%s', (_, request) => {
  it('rejects on an invalid option, and does not throw', async () => {
    for (const [options, kind, named] of BAD_REQUEST_OPTIONS) {
      // A request that does not reject would wait for ever for a server that does not exist.
      const accepted = pause(200).then(() => new Error('it was accepted'));
      const error = await Promise.race([rejection(request(options as AcquireOptions)), accepted]);
      expect(error).toBeInstanceOf(kind);
      expect((error as Error).message).toMatch(new RegExp(`^${named} must `));
    }
  });
});

describe('a wrong call', () => {
  it('rejects if the work is no function', async () => {
    const work = 42 as unknown as () => number;
    const uses: readonly Promise<unknown>[] = [
      lock.useRead(work),
      lock.useWrite(work),
      lock.useUpgradeableRead(work),
      semaphore.use(work),
    ];
    for (const use of uses.map(later)) {
      const error = await rejection(use);
      expect(error).toBeInstanceOf(TypeError);
      expect((error as Error).message).toMatch(/^work must /);
    }
  });

  it('opens no connection', () => {
    expect(sent).toEqual([]);
  });
});
