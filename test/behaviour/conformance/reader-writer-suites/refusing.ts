import { describe, expect, it } from 'vitest';

import { LockLostError, LockModeError } from '../../../../src/index.js';
import type { AcquireOptions, ReaderWriterHandle } from '../../../../src/index.js';
import { later, rejection, within } from '../../../../lab/patience.js';
import type { OwnSubject } from '../two-providers.js';
import { ReaderWriterWorld } from '../reader-writer-world.js';

type Mode = ReturnType<ReaderWriterHandle['currentMode']>;
type Move = readonly [string, (lock: ReaderWriterHandle) => Promise<unknown>];

const MOVES = {
  upgrade: ['upgrade', (lock) => lock.upgrade()],
  tryUpgrade: ['tryUpgrade', (lock) => lock.tryUpgrade()],
  toUpgradeable: ["downgrade('upgradeable')", (lock) => lock.downgrade('upgradeable')],
  toRead: ["downgrade('read')", (lock) => lock.downgrade('read')],
} as const satisfies Readonly<Record<string, Move>>;

const ALL_MOVES: readonly Move[] = Object.values(MOVES);

/** The moves that are illegal in each mode. */
const ILLEGAL: readonly (readonly [Mode, readonly Move[]])[] = [
  ['write', [MOVES.upgrade, MOVES.tryUpgrade]],
  ['upgradeable', [MOVES.toUpgradeable]],
  ['read', ALL_MOVES],
];

const BAD_WAITS: readonly (readonly [unknown, typeof TypeError | typeof RangeError, string])[] = [
  [{ timeoutMs: -1 }, RangeError, 'timeoutMs'],
  [{ timeoutMs: Number.NaN }, RangeError, 'timeoutMs'],
  [{ timeoutMs: '5' }, TypeError, 'timeoutMs'],
  [{ signal: {} }, TypeError, 'signal'],
  [{ leaseMs: 1 }, RangeError, 'leaseMs'],
  [{ why: 5 }, TypeError, 'why'],
  [5, TypeError, 'options'],
  [null, TypeError, 'options'],
];

const BAD_TARGETS: readonly (readonly [unknown, typeof TypeError | typeof RangeError])[] = [
  ['write', RangeError],
  ['', RangeError],
  [undefined, TypeError],
  [null, TypeError],
  [{}, TypeError],
];

async function heldAs(world: ReaderWriterWorld, mode: Mode): Promise<ReaderWriterHandle> {
  if (mode === 'upgradeable') return await world.lockHere.acquireUpgradeableRead();
  const lock = await world.lockHere.acquireWrite();
  if (mode === 'read') await lock.downgrade('read');
  return lock;
}

/** Illegal changes of mode, which leave everything as it was. */
export function refusing(subject: OwnSubject): void {
  /** Expects that each of these moves rejects and leaves the hold as it was. */
  async function expectRefused(
    world: ReaderWriterWorld,
    lock: ReaderWriterHandle,
    moves: readonly Move[],
  ): Promise<void> {
    const { fencingToken, signal } = lock;
    const mode = lock.currentMode();
    const sent = world.hereClient.commands.length;
    for (const [, move] of moves) {
      const error = await rejection(move(lock));
      expect(error).toBeInstanceOf(LockModeError);
      expect(error).toMatchObject({ code: 'LOCK_MODE', lockName: world.name, mode });
    }
    expect([lock.currentMode(), lock.fencingToken, lock.isHeld]).toEqual([mode, fencingToken, true]);
    expect(signal.aborted).toBe(false);
    expect(world.hereClient.commands).toHaveLength(sent);
  }

  describe.concurrent('an illegal change of mode', () => {
    it.each(ILLEGAL)('in mode %s is a LockModeError, and leaves the hold as it was', async (mode, moves) => {
      await using world = await ReaderWriterWorld.opened(subject);
      const lock = await heldAs(world, mode);
      await expectRefused(world, lock, moves);
      await lock.confirm();
      expect(await lock.release()).toBe(true);
      await world.expectOpen('Read', 'UpgradeableRead', 'Write');
    });

    it('during an upgrade is a LockModeError, and does not disturb the upgrade', async () => {
      await using world = await ReaderWriterWorld.opened(subject);
      const reader = await world.lockThere.acquireRead();
      const lock = await world.lockHere.acquireUpgradeableRead();
      const upgrade = later(lock.upgrade());
      await world.untilUpgrading();
      await expectRefused(world, lock, ALL_MOVES);
      await reader.release();
      await within(10_000, 'the upgrade', upgrade);
      expect(lock.currentMode()).toBe('write');
    });
  });

  describe.concurrent('a change of mode of a hold that has ended', () => {
    it('is a LockLostError after the release, which may be repeated', async () => {
      await using world = await ReaderWriterWorld.opened(subject);
      for (const mode of ['write', 'upgradeable', 'read'] as const) {
        const lock = await heldAs(world, mode);
        expect(await lock.release()).toBe(true);
        for (const [, move] of ALL_MOVES) {
          expect(await rejection(move(lock))).toMatchObject({ code: 'LOCK_LOST', why: 'released' });
        }
        expect(await lock.release()).toBe(true);
        await lock[Symbol.asyncDispose]();
      }
      await world.expectOpen('Read', 'UpgradeableRead', 'Write');
    });

    it('is a LockLostError after a loss, and does not take the lock of the next holder', async () => {
      await using world = await ReaderWriterWorld.opened(subject);
      for (const mode of ['write', 'upgradeable', 'read'] as const) {
        const lock = await heldAs(world, mode);
        await world.there.revoke(world.name, { id: lock.id, force: true });
        const next = await world.lockThere.acquireWrite();
        expect(await rejection(lock.confirm())).toBeInstanceOf(LockLostError);
        for (const [, move] of ALL_MOVES) {
          expect(await rejection(move(lock))).toMatchObject({ code: 'LOCK_LOST', why: 'revoked' });
        }
        await next.confirm();
        expect(next.currentMode()).toBe('write');
        expect(await next.release()).toBe(true);
      }
    });

    it('is a LockLostError even if the process has not noticed the loss yet', async () => {
      await using world = await ReaderWriterWorld.opened(subject);
      const moves: readonly (readonly [Mode, Move])[] = [
        ['write', MOVES.toRead],
        ['write', MOVES.toUpgradeable],
        ['upgradeable', MOVES.toRead],
        ['upgradeable', MOVES.upgrade],
        ['upgradeable', MOVES.tryUpgrade],
      ];
      for (const [mode, [, move]] of moves) {
        const lock = await heldAs(world, mode);
        await world.destroyDocuments([world.name]);
        const error = await rejection(within(10_000, 'an answer', move(lock)));
        expect(error).toMatchObject({ code: 'LOCK_LOST', why: 'document-missing' });
        expect(lock.isHeld).toBe(false);
      }
    });
  });

  describe.concurrent('a change of mode', () => {
    it('rejects before anything is sent if the options of an upgrade are invalid', async () => {
      await using world = await ReaderWriterWorld.opened(subject);
      const lock = await world.lockHere.acquireUpgradeableRead();
      const sent = world.hereClient.commands.length;
      for (const [options, kind, named] of BAD_WAITS) {
        const given = options as AcquireOptions;
        for (const refused of [later(lock.upgrade(given)), later(lock.tryUpgrade(given))]) {
          const error = await rejection(refused);
          expect(error).toBeInstanceOf(kind);
          expect((error as Error).message).toContain(named);
        }
      }
      expect(world.hereClient.commands).toHaveLength(sent);
      expect(lock.currentMode()).toBe('upgradeable');
      expect(await lock.tryUpgrade()).toBe(true);
    });

    it('rejects before anything is sent if the target of a downgrade is no weaker mode', async () => {
      await using world = await ReaderWriterWorld.opened(subject);
      const lock = await world.lockHere.acquireWrite();
      const sent = world.hereClient.commands.length;
      for (const [to, kind] of BAD_TARGETS) {
        const error = await rejection(lock.downgrade(to as 'read'));
        expect(error).toBeInstanceOf(kind);
        expect((error as Error).message).toMatch(/^to must be/);
      }
      expect(world.hereClient.commands).toHaveLength(sent);
      expect(lock.currentMode()).toBe('write');
    });
  });
}
