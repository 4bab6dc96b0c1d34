import { describe, expect, it } from 'vitest';
import { ProviderClosedError } from '../../../src/index.js';
import type { LockHandle } from '../../../src/index.js';
import { eventually, later, pause, within } from '../../../lab/patience.js';
import { testProvider, twoProviders } from '../../support/test-provider.js';
import type { TestProvider } from '../../support/test-provider.js';
import { untilWaiting } from '../../support/waiters.js';
import { untilKept } from './until-kept.js';

/** Longer than any test, so that time bounds no pass. */
const KEEP_MS = 60_000;
const PASSES = 3;

interface Lock {
  acquire(): Promise<LockHandle>;
}

interface Contest {
  readonly here: TestProvider;
  readonly there: TestProvider;
  /** The provider of each grant, in order: `here`, or `there`. */
  readonly order: string[];
  /** The holds of this process, in their order. */
  readonly holds: LockHandle[];
  /** Ends when every caller was served. */
  readonly ended: Promise<unknown>;
}

/**
 * The other process holds the lock. Behind it wait callers of this process, and then the other process again. So this
 * process knows from the first of its holds on that another process waits.
 *
 * @param work - What a caller of this process does with its hold.
 */
async function contest(
  passes: number,
  { keepMs = KEEP_MS, callers = 8, work = (hold: LockHandle): Promise<unknown> => hold.release() } = {},
): Promise<Contest> {
  const [here, there] = await twoProviders();
  const mutex: Lock = here.locks.createMutex('a', { keepMs, passes });
  await untilKept(here, mutex);
  const held = await there.locks.acquireMutex('a');
  const [order, holds]: [string[], LockHandle[]] = [[], []];
  const ofHere = Array.from({ length: callers }, () =>
    mutex.acquire().then((hold) => {
      order.push('here');
      holds.push(hold);
      return work(hold);
    }),
  );
  const placesOfHere = passes > 0 ? 1 : callers;
  await untilWaiting(there.locks, 'a', placesOfHere);
  const ofThere = there.locks.acquireMutex('a').then((hold) => {
    order.push('there');
    return hold.release();
  });
  await untilWaiting(there.locks, 'a', placesOfHere + 1);
  await held.release();
  return { here, there, order, holds, ended: later(Promise.all([...ofHere, ofThere])) };
}

const times = (count: number, who: string): readonly string[] => Array.from({ length: count }, () => who);

describe('a kept seat for which another process waits', () => {
  it('passes at most as often as passes allows, and then the other process gets it', async () => {
    const { order, holds, ended } = await contest(PASSES);
    await ended;
    expect(order.slice(0, PASSES + 2)).toEqual([...times(1 + PASSES, 'here'), 'there']);
    expect(order).toHaveLength(9);
    const tokens = holds.map(({ fencingToken }) => fencingToken);
    expect(tokens).toEqual([...new Set(tokens)].sort((a, b) => a - b));
    const ids = holds.map(({ id }) => id);
    expect(new Set(ids.slice(0, 1 + PASSES)).size).toBe(1);
    expect(ids[1 + PASSES]).not.toBe(ids[0]);
  });

  it('passes to no caller of its process by default', async () => {
    const { order, holds, ended } = await contest(0);
    await ended;
    expect(order).toEqual([...times(8, 'here'), 'there']);
    // Each caller came before the other process, and had a place of its own.
    expect(new Set(holds.map(({ id }) => id)).size).toBe(8);
  });

  it('passes no more when keepMs is over', async () => {
    const keepMs = 400;
    const work = async (hold: LockHandle): Promise<void> => {
      await pause(250);
      await hold.release();
    };
    const { order, ended } = await contest(255, { keepMs, work, callers: 4 });
    await ended;
    // The second hold of this process ends when 400 ms are over.
    expect(order.indexOf('there')).toBeLessThanOrEqual(2);
  });

  it('passes no more once it is revoked politely', async () => {
    const { there, order, holds, ended } = await contest(255, { work: () => Promise.resolve() });
    const first = await eventually('the first hold', () => holds[0]);
    await there.locks.revoke('a', { id: first.id });
    await eventually('its release is requested', () => first.releaseRequested.aborted);
    expect(await first.release()).toBe(true);
    await eventually('the other process is served', () => order[1] === 'there');
    void ended;
  });

  it('goes to the other process when its provider closes', async () => {
    const { here, order, holds, ended } = await contest(255, { work: () => Promise.resolve() });
    const first = await eventually('the first hold', () => holds[0]);
    const closed = here.locks.close({ drainMs: KEEP_MS });
    await expect(ended).rejects.toBeInstanceOf(ProviderClosedError);
    await first.release();
    await within(KEEP_MS, 'the close', closed);
    await eventually('the other process is served', () => order[1] === 'there');
  });

  it('serves all its callers in their order, however often it changes the process', async () => {
    const [here, there] = await twoProviders();
    const mutex = here.locks.createMutex('a', { keepMs: KEEP_MS, passes: 2 });
    await untilKept(here, mutex);
    const served: number[] = [];
    const leases = new Set<string>();
    const all = new AbortController();
    const contender = (async () => {
      let turns = 0;
      for (; !all.signal.aborted; turns += 1) await (await there.locks.acquireMutex('a')).release();
      return turns;
    })();
    await Promise.all(
      Array.from({ length: 60 }, async (_, caller) => {
        await using hold = await mutex.acquire();
        expect(hold.isHeld).toBe(true);
        served.push(caller);
        leases.add(hold.id);
        await pause(5);
      }),
    );
    all.abort();
    expect(served).toEqual(Array.from({ length: 60 }, (_, caller) => caller));
    expect(await contender).toBeGreaterThan(1);
    // Most turns on the server serve several callers.
    expect(leases.size).toBeLessThan(40);
  });
});

describe('kept permits for which another process waits', () => {
  it('pass at most as often as passes allows, to callers that ask at once', async () => {
    const [here, there] = await twoProviders();
    const semaphore = here.locks.createSemaphore('s', 1, { keepMs: KEEP_MS, passes: PASSES });
    const ofThere = there.locks.createSemaphore('s', 1);
    await untilKept(here, semaphore);
    const held = await ofThere.acquire();
    const next = ofThere.acquire();
    await untilWaiting(there.locks, 's');
    // The answer to this request shows that another process waits.
    const waiting = semaphore.acquire();
    await untilWaiting(there.locks, 's', 2);
    const order: string[] = [];
    const other = ofThere.acquire().then((hold) => {
      order.push('there');
      return hold.release();
    });
    await untilWaiting(there.locks, 's', 3);
    await held.release();
    await (await next).release();
    for (let hold = await waiting; order.length < PASSES + 3; hold = await semaphore.acquire()) {
      order.push('here');
      await hold.release();
    }
    await other;
    expect(order.slice(0, PASSES + 2)).toEqual([...times(1 + PASSES, 'here'), 'there']);
  });
});

describe('the option passes', () => {
  it.each([-1, 1.5, 256, NaN, '5', null])('is refused if it is %s', async (passes) => {
    const { locks } = await testProvider();
    const options = { keepMs: 1_000, passes: passes as number };
    expect(() => locks.createMutex('a', options)).toThrow(/passes must be/);
    expect(() => locks.createSemaphore('s', 2, options)).toThrow(/passes must be/);
    expect(() => locks.createReaderWriterLock('r', options)).toThrow(/passes must be/);
  });

  it('is refused without keepMs, and by a reader-writer lock', async () => {
    const { locks } = await testProvider();
    expect(() => locks.createMutex('a', { passes: 1 })).toThrow('passes must be 0 without keepMs, got 1');
    expect(() => locks.createReaderWriterLock('r', { keepMs: 1_000, passes: 1 })).toThrow(
      'passes must be 0 for a reader-writer lock, whose kept reads never pass a writer, got 1',
    );
    expect(() => locks.createMutex('a', { passes: 0 })).not.toThrow();
  });
});
