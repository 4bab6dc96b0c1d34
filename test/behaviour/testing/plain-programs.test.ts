import { expect, it } from 'vitest';

import { runToEnd } from '../../../lab/processes/child.js';
import { inline } from '../../../lab/processes/program.js';

const KIT = new URL('../../../src/testing/index.ts', import.meta.url).href;
const LIBRARY = new URL('../../../src/index.ts', import.meta.url).href;

it('a program without a test runner stays alive while it awaits an operation on a collection of the set', async () => {
  const { stdout } = await runToEnd(
    inline(`
      import { MemoryReplicaSet } from ${JSON.stringify(KIT)};
      const set = new MemoryReplicaSet({ seed: 7 });
      const stock = set.db('app').collection('stock');
      await stock.insertOne({ _id: 'lamp', pieces: 10 });
      console.log((await stock.findOne({ _id: 'lamp' })).pieces);
    `),
  );
  expect(stdout).toBe('10\n');
});

it.each(['real', 'virtual'])(
  'a program ends after the close of its sets, although a call in %s time never settles',
  async (time) => {
    const { stdout } = await runToEnd(
      inline(`
        import { LockProvider } from ${JSON.stringify(LIBRARY)};
        import { MemoryReplicaSet } from ${JSON.stringify(KIT)};
        const first = new MemoryReplicaSet({ time: '${time}', seed: 7 });
        const second = new MemoryReplicaSet({ time: '${time}', seed: 8 });
        const [frozen, cut] = [first.db(), second.db()];
        const locks = new LockProvider(frozen);
        const lock = await locks.createMutex('m').acquire();
        first.freeze(frozen);
        lock.release().finally(() => console.log('released'));
        second.cut(cut);
        new LockProvider(cut).createMutex('m').acquire().catch(() => undefined);
        first.sleep(60_000).finally(() => console.log('paused'));
        await first.settle();
        await first.close();
        await second.close();
        console.log('closed');
      `),
    );
    expect(stdout).toBe('closed\n');
  },
);

it('a program ends after the close of its set, although the set refused a database of another deployment', async () => {
  const { stdout } = await runToEnd(
    inline(`
      import { MemoryReplicaSet } from ${JSON.stringify(KIT)};
      const set = new MemoryReplicaSet({ seed: 7 });
      set.db();
      void set.sleep(60_000);
      try {
        set.freeze({});
      } catch ({ message }) {
        console.log(message);
      }
      await set.close();
    `),
  );
  expect(stdout).toMatch(/^db .*a Db of this MemoryReplicaSet.*\n$/);
});

it('a program stays alive while it awaits a call in a set, although an earlier set is closed', async () => {
  const { stdout } = await runToEnd(
    inline(`
      import { LockProvider } from ${JSON.stringify(LIBRARY)};
      import { MemoryReplicaSet } from ${JSON.stringify(KIT)};
      const earlier = new MemoryReplicaSet({ seed: 7 });
      const frozen = earlier.db();
      const lock = await new LockProvider(frozen).createMutex('m').acquire();
      earlier.freeze(frozen);
      void lock.release();
      await earlier.close();
      const set = new MemoryReplicaSet({ seed: 8 });
      const locks = new LockProvider(set.db());
      await locks.createMutex('m').acquire();
      console.log(await locks.createMutex('m').tryAcquire({ timeoutMs: 100 }));
      await set.close();
    `),
  );
  expect(stdout).toBe('null\n');
});

it('a program stays alive while it pauses by sleep()', async () => {
  const { stdout } = await runToEnd(
    inline(`
      import { MemoryReplicaSet } from ${JSON.stringify(KIT)};
      const set = new MemoryReplicaSet({ seed: 7 });
      await set.sleep(50);
      console.log('gone on');
      await set.close();
    `),
  );
  expect(stdout).toBe('gone on\n');
});
