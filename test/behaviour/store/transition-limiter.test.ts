import type { Db, Document, RunCommandOptions } from 'mongodb';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/clock.js';
import { TransitionLimiter } from '../../../src/store/transition-limiter.js';
import { StoreCalls } from '../../../src/store/store-calls.js';
import { whenTestEnds } from '../../support/current-test.js';
import { pause, settled, within } from '../../../lab/patience.js';
import { testProvider } from '../../support/test-provider.js';
import { keepHold } from '../../support/keep-hold.js';

/** A group of transitions, in which a refused one stops no other. */
const isGroup = (command: Document): boolean => command['ordered'] === false;

/** Delays every transition by this time from now on. */
function slow(db: Db, ms: number): void {
  const command = db.command.bind(db);
  db.command = async (sent: Document, options?: RunCommandOptions) => {
    if ('findAndModify' in sent || isGroup(sent)) await pause(ms);
    return await command(sent, options);
  };
}

/** A gate, and commands that end when the test ends them. */
function gateOf(poolSize: number) {
  const gate = new TransitionLimiter(poolSize);
  const sent: number[] = [];
  const ends: (() => void)[] = [];
  const pass = async (number: number, signal = new AbortController().signal): Promise<void> => {
    const leave = await gate.enter(signal);
    sent.push(number);
    await new Promise<void>((resolve) => (ends[number] = resolve));
    leave();
  };
  return { gate, sent, ends, pass };
}

describe('the command gate', () => {
  it.each([
    [1, 1],
    [2, 1],
    [5, 4],
    [0, 10],
  ])(
    'given a pool of %i, lets %i of ten commands pass, and one more for each that ends',
    async (poolSize, count) => {
      const { sent, ends, pass } = gateOf(poolSize);
      const passed = Array.from({ length: 10 }, (_, number) => pass(number));
      await settled();
      expect(sent).toHaveLength(count);
      for (let number = 0; number < 10; number += 1) {
        ends[number]?.();
        await settled();
      }
      await Promise.all(passed);
      expect(sent).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    },
  );

  it('never sends a command that was aborted while it waited, and lets the next one pass', async () => {
    const { sent, ends, pass } = gateOf(1);
    const giveUp = new AbortController();
    const [first, given, last] = [pass(0), pass(1, giveUp.signal), pass(2)];
    giveUp.abort(new Error('given up'));
    await expect(given).rejects.toThrow('given up');
    ends[0]?.();
    await first;
    await settled();
    expect(sent).toEqual([0, 2]);
    ends[2]?.();
    await last;
  });

  it.each([
    ['free', 0],
    ['taken', 1],
  ])('rejects an aborted signal at once while the slot is %s', async (_, count) => {
    const { sent, ends, pass } = gateOf(1);
    const before = Array.from({ length: count }, (__, number) => pass(number));
    const aborted = AbortSignal.abort(new Error('given up'));
    await expect(within(1_000, 'the rejection', pass(5, aborted))).rejects.toThrow('given up');
    for (const end of ends) end();
    await Promise.all(before);
    const next = pass(9);
    await settled();
    expect(sent).toEqual([...before.keys(), 9]);
    ends[9]?.();
    await next;
  });

  it('lets one more command pass, however often the same slot is left', async () => {
    const { gate, sent, ends, pass } = gateOf(1);
    const leave = await gate.enter(new AbortController().signal);
    const passed = [pass(0), pass(1)];
    leave();
    leave();
    await settled();
    expect(sent).toEqual([0]);
    ends[0]?.();
    await settled();
    ends[1]?.();
    await Promise.all(passed);
  });
});

describe('in a small pool', () => {
  it('an extension is sent ahead of the waiting requests', async () => {
    const { locks } = await testProvider(
      { createIndexes: false, storeTimeoutMs: 60_000 },
      { maxPoolSize: 2 },
    );
    const hold = await locks.acquireMutex('held');
    let granted = 0;
    // Sixteen groups, one after the other.
    const count = 1_024;
    const requests = Array.from({ length: count }, async (_, index) => {
      await keepHold(locks.acquireMutex(`n${String(index)}`));
      granted += 1;
    });
    await hold.confirm();
    expect(granted).toBeLessThan(count / 2);
    await Promise.all(requests);
    expect(granted).toBe(count);
  });

  it('a request that waits longer than a lease for its turn counts its lease from its sending', async () => {
    const { db, locks, commands } = await testProvider(
      { createIndexes: false, storeTimeoutMs: 60_000, leaseMs: 9_000, wakeups: 'polling' },
      { maxPoolSize: 2 },
    );
    await keepHold(locks.acquireMutex('met'));
    slow(db, 1_200);
    const before = commands.length;
    // Eight groups, one after the other.
    const names = Array.from({ length: 512 }, (_, index) => `n${String(index)}`);
    const holds = await within(
      60_000,
      'the grants',
      Promise.all(names.map((name) => locks.acquireMutex(name))),
    );
    expect(holds.map(({ isHeld }) => isHeld)).not.toContain(false);
    const groups = commands.slice(before).filter(({ command }) => isGroup(command));
    const sent = groups.flatMap(
      ({ command }) => command['updates'] as readonly { q: { _id: string | { $in: readonly string[] } } }[],
    );
    const asked = sent.flatMap(({ q }) => (typeof q._id === 'string' ? [] : q._id.$in));
    expect(asked).toEqual(names);
  });

  it('a command that never had its turn is reported as not applied', async () => {
    const { db } = await testProvider({ createIndexes: false }, { maxPoolSize: 2 });
    const calls = new StoreCalls(db, 'locks', systemClock, () => undefined, 5_000);
    whenTestEnds(() => {
      calls.close();
    });
    slow(db, 4_000);
    const made: string[] = [];
    const run = (name: string, boundMs: number) =>
      calls.run('transition', name, () => ({ findAndModify: made.push(name) }), boundMs);
    const outcomes = await Promise.all([run('a', 3_000), run('b', 500), run('c', 500)]);
    expect(outcomes).toMatchObject([true, false, false].map((maybeApplied) => ({ maybeApplied })));
    expect(made).toEqual(['a']);
  });
});
