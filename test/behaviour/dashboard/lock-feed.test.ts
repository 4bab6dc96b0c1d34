import { expect, it } from 'vitest';

import { Board } from '../../../src/dashboard/board.js';
import { HandOverRate } from '../../../src/dashboard/hand-over-rate.js';
import { LockFeed } from '../../../src/dashboard/lock-feed.js';
import { engineOf } from '../../../src/engine-of.js';
import { LockProvider } from '../../../src/index.js';
import { MemoryReplicaSet } from '../../../src/testing/index.js';
import { eventually } from '../../../lab/patience.js';
import { whenTestEnds } from '../../support/current-test.js';

it('a feed that starts again before its stream has ended is live again', async () => {
  const set = new MemoryReplicaSet({ seed: 13 });
  const locks = new LockProvider(set.db('app'));
  const { requester, inspector, overseeing: settings } = engineOf(locks);
  const { collection, clock, report } = requester.context;
  const context = { collection, settings, clock, report };
  const feed = new LockFeed(context, inspector, new Board(), new HandOverRate(clock), () => undefined);
  whenTestEnds(async () => {
    await feed.close();
    await locks.close({ drainMs: 0 });
    await set.close();
  });
  feed.start();
  await eventually('it is live', () => feed.state === 'live');
  feed.stop();
  feed.start();
  expect(feed.state).toBe('connecting');
  await eventually('it is live again', () => feed.state === 'live');
});
