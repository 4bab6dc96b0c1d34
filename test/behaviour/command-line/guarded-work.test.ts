import { describe, expect, it } from 'vitest';

import { doGuarded } from '../../../src/cli/guarded-work.js';
import { Interruption } from '../../../src/cli/interruption.js';
import { Output } from '../../../src/cli/output.js';
import { LockProvider } from '../../../src/index.js';
import { MemoryReplicaSet } from '../../../src/testing/index.js';
import { whenTestEnds } from '../../support/current-test.js';

describe('a signal between the grant and the beginning of the work', () => {
  it.each([
    ['SIGHUP', 129],
    ['SIGQUIT', 131],
    ['SIGTERM', 143],
  ] as const)('%s ends it with %d', async (signalName, exitCode) => {
    const set = new MemoryReplicaSet({ seed: 3 });
    const locks = new LockProvider(set.db('app'));
    whenTestEnds(async () => {
      await locks.close({ drainMs: 0 });
      await set.close();
    });
    const hold = await locks.acquireMutex('x');
    using interruption = new Interruption();
    process.emit(signalName, signalName);
    const common = {
      hold,
      interruption,
      killAfterMs: 1_000,
      onLoss: 'kill',
      output: new Output({}),
    } as const;
    // A command that does not exist shows whether it was started: the exit code would be 127.
    for (const command of [undefined, ['/no/such/command']])
      await expect(doGuarded({ ...common, command })).rejects.toMatchObject({ exitCode });
    expect(hold.isHeld).toBe(true);
  });
});
