import { expect, it } from 'vitest';
import type { LostEvent } from '../../../src/index.js';
import { eventually } from '../../../lab/patience.js';
import { failCommands, testProvider, useOwnServer } from '../../support/test-provider.js';

useOwnServer();

it('a release that reaches the server after the lease has expired returns false, and reports the loss', async () => {
  const holder = await testProvider({ leaseMs: 1_000, createIndexes: false });
  const losses: LostEvent[] = [];
  holder.locks.on('lost', (event) => losses.push(event));
  const lock = await holder.locks.acquireMutex('a');
  await failCommands(
    holder,
    { times: 1 },
    {
      failCommands: ['findAndModify'],
      blockConnection: true,
      blockTimeMS: 1_500,
    },
  );
  expect(await lock.release()).toBe(false);
  await eventually('the loss is reported', () => losses.length === 1);
  expect(losses).toMatchObject([{ id: lock.id, why: 'expired' }]);
});
