import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { later, rejection, thrown, within } from '../../../../lab/patience.js';
import { byBreadth } from '../../../support/breadth.js';
import { LockWorld } from '../lock-world.js';
import type { Subject } from '../lock-world.js';

const MAX_BYTES = 1_024;

/** Names that are tried at the same time: with all of them at once, a slow machine answers none in time. */
const AT_ONCE = 5;

/** Each of them means something to MongoDB, to JavaScript, or to code that builds a string from it. */
const ODD_NAMES: readonly string[] = [
  ' ',
  'a',
  '\0',
  'a\0b',
  '$',
  '$$NOW',
  '$holder',
  'queue.$[].x',
  '.',
  '/',
  'a:b:c 0',
  '{"$ne":null}',
  '\\'.repeat(5),
  '\\'.repeat(1_000),
  '__proto__',
  'constructor',
  'null',
  '\u202Eright to left',
  '\uFEFF\uFFFF',
  '😀',
  '👩‍👩‍👧‍👦',
];

/** Pairs of names that a less exact comparison would take for the same lock. */
const DISTINCT_NAMES: readonly (readonly [string, string])[] = [
  ['invoice', 'Invoice'],
  [`${'a'.repeat(900)}x`, `${'a'.repeat(900)}X`],
  ['caf\u00e9', 'cafe\u0301'],
  ['ss', 'ß'],
  ['1', ' 1'],
  ['1', '1\0'],
  ['a', 'a '],
];

const BAD_NAMES: readonly (readonly [string, unknown, typeof TypeError | typeof RangeError])[] = [
  ['an empty name', '', RangeError],
  ['1,025 bytes of ASCII', 'a'.repeat(MAX_BYTES + 1), RangeError],
  ['1,025 bytes in 257 characters', `${'😀'.repeat(MAX_BYTES / 4)}a`, RangeError],
  ['a lone high surrogate', 'a\uD83D', TypeError],
  ['a lone low surrogate', '\uDE00a', TypeError],
  ['surrogates the wrong way round', '\uDE00\uD83D', TypeError],
  ['undefined', undefined, TypeError],
  ['null', null, TypeError],
  ['a number', 42, TypeError],
  ['an object', { toString: () => 'name' }, TypeError],
  ['a boxed string', Object('name'), TypeError],
];

/** All code points but surrogates. fast-check's own arbitrary of them takes a second to build. */
const CODE_POINT = fc
  .nat(0x10_ff_ff - 0x8_00)
  .map((point) => String.fromCodePoint(point < 0xd8_00 ? point : point + 0x8_00));

/** Any text of 1 to 1,024 bytes of UTF-8 is a name. */
export function naming(subject: Subject): void {
  const longest = MAX_BYTES - subject.adapter.addedBytes;

  /** Expects that a lock of this name can be held, is then busy, and can be waited for, handed over and released. */
  async function expectUsable(world: LockWorld, name: string): Promise<void> {
    await world.name(name);
    const hold = await world.openHere(name).acquire();
    expect(await world.openThere(name).tryAcquire()).toBeNull();
    const next = later(world.openThere(name).acquire());
    await world.untilWaiting(name, 1);
    await hold.release();
    const granted = await within(10_000, 'the hand-over', next);
    await granted.release();
    const [document] = subject.adapter.documentsOf(name);
    expect((await world.there.inspect(document))?.name).toBe(document);
  }

  describe.concurrent('a name', () => {
    it('may contain control characters, operators or emoji, and have the greatest length', async () => {
      await using world = new LockWorld(subject);
      const names = [...ODD_NAMES, 'x'.repeat(longest), '😀'.repeat(Math.floor(longest / 4))];
      for (let at = 0; at < names.length; at += AT_ONCE)
        await Promise.all(names.slice(at, at + AT_ONCE).map((name) => expectUsable(world, name)));
    });

    it('may be any well-formed text', async () => {
      await using world = new LockWorld(subject);
      const anyName = fc
        .array(CODE_POINT, { minLength: 1, maxLength: longest })
        .map((characters) => characters.join(''))
        .filter((name) => Buffer.byteLength(name) <= longest);
      const names = fc.uniqueArray(anyName, { minLength: 5, maxLength: 5 });
      await fc.assert(
        fc.asyncProperty(names, async (some) => {
          await Promise.all(some.map((name) => expectUsable(world, name)));
        }),
        // A used name can be used again, so shrinking works in the same world.
        { numRuns: byBreadth(2, 6) },
      );
    });

    it('is compared byte by byte', async () => {
      await using world = new LockWorld(subject);
      for (const [one, other] of DISTINCT_NAMES) {
        await world.name(one);
        await world.name(other);
        await using first = await world.openHere(one).acquire();
        await using second = await world.openThere(other).tryAcquire();
        expect([first.isHeld, second?.isHeld]).toEqual([true, true]);
      }
    });

    it('means the same lock in every lock object of every provider', async () => {
      await using world = new LockWorld(subject);
      const name = await world.name('naïve\\$name');
      await using hold = await world.openHere(name).acquire();
      expect(hold.isHeld).toBe(true);
      expect(await world.openHere(['naïve', '$name'].join('\\')).tryAcquire()).toBeNull();
      expect(await world.openThere(name).tryAcquire()).toBeNull();
    });
  });

  describe.concurrent('an invalid name', () => {
    it.each(BAD_NAMES)('is an error before anything is sent: %s', async (_, name, kind) => {
      await using world = new LockWorld(subject);
      const open = (): unknown => world.openHere(name as string);
      const error = thrown(open);
      expect(error).toBeInstanceOf(kind);
      expect((error as Error).message).toMatch(/^name must /);
      // `toBeInstanceOf` alone would accept a subclass or an error of the driver.
      expect((error as Error).name).toBe(kind.name);
      const calls = [
        world.here.acquireMutex(name as string),
        world.here.tryAcquireMutex(name as string),
        world.here.useMutex(name as string, () => 1),
        world.here.inspect(name as string),
        world.here.revoke(name as string),
      ];
      for (const call of calls) expect(await rejection(call)).toBeInstanceOf(kind);
      expect(world.hereClient.commands).toEqual([]);
    });
  });
}
