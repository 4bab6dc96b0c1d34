import { afterEach, describe, expect, it } from 'vitest';

import {
  CorruptLockDocumentError,
  LockKindMismatchError,
  LockProvider,
  ProviderClosedError,
  StoreUnavailableError,
} from '../../../src/index.js';
import { runCoordinator } from '../../../src/node-cron/index.js';
import type { RunCoordinator, RunCoordinatorOptions } from '../../../src/node-cron/index.js';
import { QuorumLockProvider } from '../../../src/quorum/index.js';
import { later, rejection, thrown } from '../../../lab/patience.js';
import { FAULTS } from '../testing/faults.js';
import { Fleet } from '../testing/fleet.js';
import type { Member } from '../testing/fleet.js';
import { keepHold } from '../../support/keep-hold.js';

const TTL_MS = 30_000;

let fleet = new Fleet(1);

afterEach(async () => {
  await fleet.close();
});

/** A new fleet, with a coordinator in each of its three processes. */
function coordinators(seed: number, options?: RunCoordinatorOptions): readonly [One, One, One] {
  fleet = new Fleet(seed);
  const [first, second, third] = fleet.members.map((member) => ({
    member,
    coordinator: runCoordinator(member.locks, options),
  }));
  if (first === undefined || second === undefined || third === undefined) throw new Error('no fleet');
  return [first, second, third];
}

interface One {
  readonly member: Member;
  readonly coordinator: RunCoordinator;
}

const keyOf = (task: string, instantMs: number): string => `${task}:${new Date(instantMs).toISOString()}`;

/** The next whole second after so long. */
const inMs = (ms: number): number => Math.ceil((fleet.set.now().getTime() + ms) / 1_000) * 1_000;

/** What `shouldRun` answers, in virtual time. */
const answer = ({ coordinator }: One, task: string, instantMs: number): Promise<boolean> =>
  fleet.until(coordinator.shouldRun(keyOf(task, instantMs), TTL_MS));

/**
 * Plays a task that fires every second: each process asks at each instant by its own clock, which is ahead of the
 * server's by so much. Returns, for each instant, how many processes were told to run it.
 */
async function fire(
  all: readonly One[],
  instants: readonly number[],
  aheadMs: readonly number[],
): Promise<readonly number[]> {
  const runs = new Map(instants.map((instant) => [instant, 0]));
  const played = all.map(async ({ member, coordinator }, index) => {
    const asked = instants.map(async (instant) => {
      const waitMs = instant - fleet.set.now().getTime() - (aheadMs[index] ?? 0);
      await member.sleep(Math.max(0, waitMs));
      const isElected = await coordinator.shouldRun(keyOf('mail', instant), TTL_MS).catch(() => false);
      if (isElected) runs.set(instant, (runs.get(instant) ?? 0) + 1);
    });
    await Promise.all(asked);
  });
  await fleet.until(Promise.all(played));
  return [...runs.values()];
}

describe('a coordinator for node-cron', () => {
  it('lets one of all processes run each fire, whatever their clocks say', async () => {
    const all = coordinators(31);
    const first = inMs(2_000);
    const instants = Array.from({ length: 30 }, (_, index) => first + index * 1_000);
    expect(await fire(all, instants, [400, 0, -450])).toEqual(instants.map(() => 1));
    expect(fleet.set.violations()).toEqual([]);
  });

  it.each(FAULTS)('never lets two processes run a fire under $what', async ({ begin, end }) => {
    const all = coordinators(32);
    const { set } = fleet;
    const first = inMs(2_000);
    const instants = Array.from({ length: 40 }, (_, index) => first + index * 1_000);
    const db = all[0].member.db;
    const played = fire(all, instants, [0, 300, -300]);
    await set.advance(8_000);
    begin(set, db);
    await set.advance(15_000);
    end?.(set, db);
    const runs = await played;
    expect(Math.max(...runs)).toBe(1);
    // The store is back, and so is the process that the fault has met.
    expect(runs.slice(-10)).toEqual(instants.slice(-10).map(() => 1));
    expect(set.violations()).toEqual([]);
  });

  it('finds its own claim if the reply to it was lost', async () => {
    const [one, other] = coordinators(33);
    const instant = inMs(-1_000);
    fleet.set.loseReplies(2);
    expect(await answer(one, 'mail', instant)).toBe(true);
    expect(await answer(other, 'mail', instant)).toBe(false);
  });

  it('reports a claim that a later fire has hidden as unknown', async () => {
    const [one, other] = coordinators(34);
    const { set } = fleet;
    const [early, late] = [inMs(-3_000), inMs(-1_000)];
    set.loseReplies(1);
    const asked = later(one.coordinator.shouldRun(keyOf('mail', early), TTL_MS));
    await set.settle();
    set.cut(one.member.db);
    expect(await answer(other, 'mail', late)).toBe(true);
    set.heal(one.member.db);
    const error = await rejection(fleet.until(asked));
    expect(error).toBeInstanceOf(StoreUnavailableError);
    expect(error).toMatchObject({ outcomeKnown: false, lockName: 'node-cron:mail' });
    expect(String(error)).toContain('was claimed before the claim of this one was answered');
  });

  it('refuses a fire after a later one was claimed', async () => {
    const [one, other] = coordinators(35);
    expect(await answer(one, 'mail', inMs(-1_000))).toBe(true);
    expect(await answer(other, 'mail', inMs(-2_000))).toBe(false);
    expect(await answer(other, 'report', inMs(-2_000))).toBe(true);
  });

  it('runs no fire before its instant, by the server’s clock', async () => {
    const [one] = coordinators(36);
    const instant = inMs(4_000);
    expect(await answer(one, 'mail', instant)).toBe(true);
    expect(fleet.set.now().getTime()).toBeGreaterThanOrEqual(instant);
    const [document] = fleet.set.documents();
    const claims = document?.['claims'] as readonly { run: { startedAt: Date } }[];
    expect(claims[0]?.run.startedAt.getTime()).toBeGreaterThanOrEqual(instant);
  });

  it('skips the fire, and says why, in a process whose clock is too far ahead', async () => {
    const [one, other] = coordinators(37, { timeoutMs: 2_000 });
    const instant = inMs(3_600_000);
    const error = await rejection(answer(one, 'mail', instant));
    expect(error).toBeInstanceOf(StoreUnavailableError);
    expect(String(error)).toMatch(/by the server's clock, .* is still 359\d\.\d s ahead/);
    expect(await answer(other, 'mail', inMs(-1_000))).toBe(true);
  });

  it('gives up after `timeoutMs` if the store is silent, and says whether the fire may be claimed', async () => {
    const [one] = coordinators(38, { timeoutMs: 3_000 });
    const startedMs = fleet.set.now().getTime();
    fleet.set.cut(one.member.db);
    const error = await rejection(answer(one, 'mail', inMs(-1_000)));
    expect(error).toBeInstanceOf(StoreUnavailableError);
    expect(fleet.set.now().getTime() - startedMs).toBeLessThan(4_000);
  });

  it('takes a task whose name has colons', async () => {
    const [one, other] = coordinators(39);
    const instant = inMs(-1_000);
    expect(await answer(one, 'eu:mail:daily', instant)).toBe(true);
    expect(await answer(other, 'eu:mail:daily', instant)).toBe(false);
    expect(fleet.set.documents().map(({ _id }) => _id)).toEqual(['node-cron:eu:mail:daily']);
  });

  it('keeps the claims of another prefix apart', async () => {
    const [one, other] = coordinators(40);
    const instant = inMs(-1_000);
    const staging = { ...other, coordinator: runCoordinator(other.member.locks, { prefix: 'staging:' }) };
    expect(await answer(one, 'mail', instant)).toBe(true);
    expect(await answer(staging, 'mail', instant)).toBe(true);
    expect(await answer(other, 'mail', instant)).toBe(false);
  });

  it('fails if the document is of another kind of lock, or corrupt', async () => {
    const [one] = coordinators(41);
    const { locks } = one.member;
    await keepHold(fleet.until(locks.acquireMutex('node-cron:mutex')));
    expect(await rejection(answer(one, 'mutex', inMs(-1_000)))).toBeInstanceOf(LockKindMismatchError);
    const collection = one.member.db.collection<{ _id: string }>('distributed.locks');
    await fleet.until(
      collection.insertOne({ _id: 'node-cron:corrupt', kind: 'election' } as { _id: string }),
    );
    expect(await rejection(answer(one, 'corrupt', inMs(-1_000)))).toBeInstanceOf(CorruptLockDocumentError);
  });

  it('rejects when the provider is closed, before and while a claim waits', async () => {
    const [one] = coordinators(42);
    const waiting = later(one.coordinator.shouldRun(keyOf('mail', inMs(20_000)), TTL_MS));
    await fleet.set.advance(1_000);
    await fleet.until(one.member.locks.close());
    expect(await rejection(fleet.until(waiting))).toBeInstanceOf(ProviderClosedError);
    expect(await rejection(answer(one, 'mail', inMs(-1_000)))).toBeInstanceOf(ProviderClosedError);
  });

  it('runs a fire whose claim is in flight when the provider closes and then its client', async () => {
    const [one, other] = coordinators(44);
    const { db, locks } = one.member;
    const instant = inMs(-1_000);
    fleet.set.delayReplies(700);
    const asked = later(one.coordinator.shouldRun(keyOf('mail', instant), TTL_MS));
    await fleet.set.settle();
    await fleet.until(locks.close().then(() => db.client.close()));
    expect(await fleet.until(asked)).toBe(true);
    expect(await answer(other, 'mail', instant)).toBe(false);
  });

  it('ends a claim without an answer, and closes, after `drainMs` at the latest', async () => {
    const [one] = coordinators(45);
    const { db, locks } = one.member;
    fleet.set.cut(db);
    const asked = later(one.coordinator.shouldRun(keyOf('mail', inMs(-1_000)), TTL_MS));
    await fleet.set.settle();
    const startedMs = fleet.set.now().getTime();
    await fleet.until(locks.close({ drainMs: 1_000 }));
    expect(await rejection(fleet.until(asked))).toBeInstanceOf(ProviderClosedError);
    expect(fleet.set.now().getTime() - startedMs).toBeLessThan(2_000);
  });
});

describe('wrong values', () => {
  const [{ member }] = coordinators(43);
  const { locks } = member;

  it.each([
    [
      'an unknown option',
      { prefixes: 'x' },
      /unknown option "prefixes" of runCoordinator; did you mean "prefix"\?/,
    ],
    ['a prefix that is no string', { prefix: 7 }, /prefix must be a string, got 7/],
    ['a timeout below its range', { timeoutMs: 0 }, /timeoutMs must be between 1 and 86400000, got 0/],
    ['options that are no object', 'x', /options must be an object/],
  ])('%s is refused', (_, options, message) => {
    expect(String(thrown(() => runCoordinator(locks, options as RunCoordinatorOptions)))).toMatch(message);
  });

  it.each([
    ['no provider', undefined],
    ['null', null],
    ['another object', {}],
    [
      'a provider of quorums',
      new QuorumLockProvider(['a', 'b', 'c'].map((name) => member.db.client.db(name))),
    ],
  ])('%s instead of a LockProvider is refused', (_, given) => {
    expect(thrown(() => runCoordinator(given as LockProvider))).toMatchObject({
      name: 'TypeError',
      message: expect.stringMatching(
        /^locks must be a LockProvider of this copy of the library, got /,
      ) as string,
    });
  });

  it.each([
    ['a key without an instant', 'mail', 'RangeError'],
    ['a key without a task', `:${new Date(0).toISOString()}`, 'RangeError'],
    ['an instant that does not exist', 'mail:2026-13-01T00:00:00.000Z', 'RangeError'],
    ['an instant before 1970', 'mail:1969-12-31T23:59:59.000Z', 'RangeError'],
    ['a key that is no string', 7, 'TypeError'],
    ['a name that is too long', keyOf('x'.repeat(1_020), 0), 'RangeError'],
  ])('%s is refused', async (_, key, name) => {
    const coordinator = runCoordinator(locks);
    expect(await rejection(coordinator.shouldRun(key as string, TTL_MS))).toMatchObject({ name });
  });
});
