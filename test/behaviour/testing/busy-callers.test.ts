import { expect, it } from 'vitest';
import { settled } from '../../../lab/patience.js';
import { LockProvider } from '../../../src/index.js';
import { MemoryReplicaSet } from '../../../src/testing/index.js';
import { byBreadth } from '../../support/breadth.js';
import { whenTestEnds } from '../../support/current-test.js';

const MOST_IN_A_TURN = 5_000;
const MOST_TURNS = 20_000;

const asSoonAsItHasEnded = ['as soon as it has ended', (): void => undefined] as const;

it.each([['once in each turn', settled] as const, ...byBreadth([], [asSoonAsItHasEnded])])(
  'a caller that repeats a kept read %s lets virtual time pass',
  async (_, rest) => {
    const set = new MemoryReplicaSet({ time: 'virtual', seed: 7 });
    whenTestEnds(() => set.close());
    const [here, there] = [new LockProvider(set.db('app')), new LockProvider(set.db('app'))];
    const prices = here.createReaderWriterLock('prices', { keepMs: 60_000 });
    await prices.useRead(() => undefined);
    await set.settle();
    let isWritten = false;
    const isOver = (): boolean => isWritten;
    const writing = there.createReaderWriterLock('prices').useWrite(() => (isWritten = true));
    const advancing = set.advance(1_000);
    let [turns, callsInTurn] = [0, 0];
    while (!isOver()) {
      if (callsInTurn === 0) setImmediate(() => ([turns, callsInTurn] = [turns + 1, 0]));
      callsInTurn += 1;
      if (callsInTurn > MOST_IN_A_TURN || turns > MOST_TURNS) throw new Error('no time passes');
      await prices.useRead(rest);
    }
    expect(await writing).toBe(true);
    await advancing;
    await Promise.all([here.close(), there.close()]);
  },
);
