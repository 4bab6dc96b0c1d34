import { expect, test } from 'vitest';

import { runToEnd } from '../../../lab/processes/child.js';
import { inline } from '../../../lab/processes/program.js';

const KIT = new URL('../../../src/testing/index.ts', import.meta.url).href;

test('a program without a test runner stays alive while it awaits an operation on a collection of the set', async () => {
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
