import { describe, expect, it, vi } from 'vitest';

import { Board } from '../../../src/dashboard/board.js';
import { untilTestEnds, whenTestEnds } from '../../support/current-test.js';
import { World } from './dashboard-world.js';
import { viewing } from './event-reader.js';
import { withoutSearches } from './without-searches.js';

describe('a slow viewer', () => {
  it('gets one message for all changes that it has not read, with the latest state', async () => {
    const world = new World();
    const slow = await world.viewing();
    const quick = await world.viewing();
    const locks = world.process({});
    for (const name of ['a', 'b', 'c']) {
      const lock = await locks.acquireMutex(name);
      await quick.until(`${name} is held`, ({ locks: shown }) => shown.of(name)?.holderCount === 1);
      await lock.release();
      await quick.until(`${name} is free`, ({ locks: shown }) => shown.of(name)?.holderCount === 0);
    }
    const before = slow.messages.length;
    while (slow.locks.of('c') === undefined) await slow.read();
    expect(slow.messages.length).toBe(before + 1);
    expect(slow.locks.rows.map(({ name, holderCount }) => [name, holderCount])).toEqual([
      ['a', 0],
      ['b', 0],
      ['c', 0],
    ]);
  });
});

describe('a viewer whose filter waits for its first search', () => {
  it('gets the state, its changes and the totals meanwhile, and the rows later', async () => {
    const world = new World({ storeTimeoutMs: 500 });
    const held = await world.process({}).acquireMutex('x');
    const goOn = withoutSearches();
    const viewer = untilTestEnds(await viewing(world.handler, '/events?filter=x'));
    await viewer.until('the first message', ({ messages }) => messages.length === 1);
    expect(viewer.last).toMatchObject({ state: 'connecting' });
    await viewer.until('it is live', ({ last }) => last?.state === 'live');
    expect(viewer.last?.totals).toMatchObject({ locks: 1, held: 1 });
    world.set.stop();
    await viewer.until('the store is away', ({ last }) => last?.state === 'unavailable');
    world.set.start();
    await viewer.until('the store is back', ({ last }) => last?.state === 'live');
    expect(viewer.messages.every(({ found }) => found === undefined)).toBe(true);
    goOn();
    await viewer.until('the filter was searched', ({ last }) => last?.found !== undefined);
    expect(viewer.locks.names).toEqual(['x']);
    expect(held.isHeld).toBe(true);
  });

  it('is told why there is no change stream', async () => {
    const world = new World({ wakeups: 'polling' });
    withoutSearches();
    const viewer = await world.viewing('/events?filter=x');
    expect(viewer.last).toMatchObject({ state: 'polling', why: 'asked for by the option wakeups' });
    expect(viewer.last?.found).toBeUndefined();
  });
});

it('viewers with one filter share its view, and the last one to leave takes the view with it', async () => {
  const world = new World();
  const look = vi.spyOn(Board.prototype, 'view');
  whenTestEnds(() => {
    look.mockRestore();
  });
  const staying = await world.viewing();
  await staying.until('it is live', ({ last }) => last?.state === 'live');
  const views = new Set<unknown>();
  const visit = async (): Promise<AsyncDisposable> => {
    const viewer = untilTestEnds(await viewing(world.handler, '/events?filter=x'));
    await viewer.until('it has its rows', ({ last }) => last?.found !== undefined);
    const seen = look.mock.results.at(-1);
    if (seen?.type === 'return') views.add(seen.value?.view);
    return viewer;
  };
  const first = await visit();
  const second = await visit();
  await first[Symbol.asyncDispose]();
  const third = await visit();
  expect(views.size).toBe(1);
  for (const viewer of [second, third]) await viewer[Symbol.asyncDispose]();
  await visit();
  expect(views.size).toBe(2);
});
