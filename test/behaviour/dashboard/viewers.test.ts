import { describe, expect, it } from 'vitest';

import { World } from './dashboard-world.js';

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
