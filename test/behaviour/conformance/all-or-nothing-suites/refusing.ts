import { describe, expect, it } from 'vitest';

import type { AcquireOptions, LockRequest } from '../../../../src/index.js';
import { later, rejection } from '../../../../lab/patience.js';
import type { OwnSubject } from '../two-providers.js';
import { AllOrNothingWorld } from '../all-or-nothing-world.js';
import type { Kinds } from '../all-or-nothing-world.js';

/** Makes invalid requests from locks of the called provider and from locks of another one. */
type Malformed = (own: Kinds, foreign: Kinds) => unknown;

const NO_LISTS: readonly (readonly [string, Malformed])[] = [
  ['undefined', () => undefined],
  ['null', () => null],
  ['a string', () => 'a'],
  ['a request outside a list', ({ mutex }) => ({ mutex })],
  ['a set', ({ mutex }) => new Set([{ mutex }])],
  ['an empty list', () => []],
];

const NO_REQUESTS: readonly (readonly [string, Malformed])[] = [
  ['undefined', () => [undefined]],
  ['null', () => [null]],
  ['a name', () => ['a']],
  ['a lock', ({ mutex }) => [mutex]],
  ['an empty object', () => [{}]],
  ['an unknown key', ({ mutex }) => [{ lock: mutex }]],
  ['two keys at once', ({ mutex, read }) => [{ mutex, read }]],
  ['an undefined lock', () => [{ mutex: undefined }]],
  ['the name of a lock', () => [{ mutex: 'a' }]],
  ['a lock of another kind', ({ semaphore }) => [{ mutex: semaphore }]],
  ['a mutex to be read', ({ mutex }) => [{ read: mutex }]],
  ['a reader-writer lock as a semaphore', ({ write }) => [{ semaphore: write }]],
  ['an object that only looks like a mutex', ({ mutex }) => [{ mutex: { ...mutex, name: 'a' } }]],
  ['permits that are no number', ({ semaphore }) => [{ semaphore, permits: '1' }]],
  ['an invalid request after valid ones', ({ mutex, semaphore }) => [{ mutex }, { semaphore }, null]],
];

const NOT_OURS: readonly (readonly [string, Malformed])[] = [
  ['a mutex', (_, { mutex }) => [{ mutex }]],
  ['a lock to be read', (own, { read }) => [{ mutex: own.mutex }, { read }]],
  ['a lock to be written', (own, { write }) => [{ write }, { mutex: own.mutex }]],
  ['an upgradeable read', (_, { upgradeableRead }) => [{ upgradeableRead }]],
  ['a semaphore', (_, { semaphore }) => [{ semaphore }]],
];

const TWICE: readonly (readonly [string, Malformed])[] = [
  ['the same object', ({ mutex }) => [{ mutex }, { mutex }]],
  ['for a read and for a write', ({ read }) => [{ read }, { write: read }]],
  ['for two reads', ({ read, mutex }) => [{ read }, { mutex }, { read }]],
  ['for permits in two requests', ({ semaphore }) => [{ semaphore }, { semaphore, permits: 2 }]],
];

const BAD_PERMITS: readonly (readonly [string, Malformed])[] = [0, -1, 1.5, 4, Number.NaN].map((permits) => [
  `permits = ${permits}`,
  ({ semaphore }) => [{ semaphore, permits }],
]);

const BAD_OPTIONS: readonly (readonly [unknown, typeof TypeError | typeof RangeError, string])[] = [
  [{ timeoutMs: -1 }, RangeError, 'timeoutMs'],
  [{ timeoutMs: Number.NaN }, RangeError, 'timeoutMs'],
  [{ timeoutMs: '200' }, TypeError, 'timeoutMs'],
  [{ signal: {} }, TypeError, 'signal'],
  [{ leaseMs: 99 }, RangeError, 'leaseMs'],
  [{ why: 5 }, TypeError, 'why'],
  [5, TypeError, 'options'],
  [null, TypeError, 'options'],
];

/** Calls with invalid requests, which fail before anything is sent. */
export function refusing({ wakeups }: OwnSubject): void {
  async function expectRefused(
    malformed: Malformed,
    kind: typeof TypeError | typeof RangeError,
    named: RegExp,
    options?: AcquireOptions,
  ): Promise<void> {
    await using world = new AllOrNothingWorld(wakeups);
    const requests = malformed(world.kindsOf(world.here), world.kindsOf(world.there)) as LockRequest[];
    const calls: readonly Promise<unknown>[] = [
      world.here.acquireAll(requests, options),
      world.here.tryAcquireAll(requests, options),
    ];
    for (const call of calls.map(later)) {
      const error = await rejection(call);
      expect(error).toBeInstanceOf(kind);
      expect((error as Error).message).toMatch(named);
    }
    expect(world.hereClient.commands).toEqual([]);
  }

  describe.concurrent('acquireAll and tryAcquireAll reject, before anything is sent,', () => {
    it.each(NO_LISTS)('a value that is no list of requests, or an empty list: %s', async (_, malformed) => {
      await expectRefused(malformed, TypeError, /^requests must /);
    });

    it.each(NO_REQUESTS)('an invalid request: %s', async (_, malformed) => {
      await expectRefused(malformed, TypeError, /^(requests\[\d\]|permits) must /);
    });

    it.each(NOT_OURS)('a lock of another provider: %s', async (_, malformed) => {
      await expectRefused(malformed, TypeError, /^requests\[\d\] must name .* of this provider$/);
    });

    it.each(TWICE)('a lock that is named twice: %s', async (_, malformed) => {
      await expectRefused(malformed, TypeError, /each lock once, got '.+' twice$/);
    });

    it('a lock that is named twice through two objects, even of different kinds', async () => {
      await using world = new AllOrNothingWorld(wakeups);
      const requests = [
        { mutex: world.here.createMutex('a') },
        { mutex: world.here.createMutex('b') },
        { semaphore: world.here.createSemaphore('a', 2) },
      ];
      expect(await rejection(world.here.acquireAll(requests))).toBeInstanceOf(TypeError);
      expect(world.hereClient.commands).toEqual([]);
    });

    it.each(BAD_PERMITS)('an impossible number of permits: %s', async (_, malformed) => {
      await expectRefused(malformed, RangeError, /^permits must /);
    });

    it.each(BAD_OPTIONS)('an invalid option: %j', async (options, kind, named) => {
      const good: Malformed = ({ mutex, write }) => [{ mutex }, { write }];
      await expectRefused(good, kind, new RegExp(`^${named} must `), options as AcquireOptions);
    });
  });
}
