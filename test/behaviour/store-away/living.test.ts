import { describe, expect, it } from 'vitest';

import { runToEnd } from '../../../lab/processes/child.js';
import { inline } from '../../../lab/processes/program.js';

/** Runs a program in a process of its own, which can never reach its store. Returns what the process prints. */
async function printed(program: string, exitCode: number): Promise<string> {
  const source = `
    import { MongoClient } from 'mongodb';
    import { LockProvider } from 'leasehold';
    const client = new MongoClient('mongodb://127.0.0.1:1/', { serverSelectionTimeoutMS: 200 });
    const locks = new LockProvider(client.db('x'), { storeTimeoutMs: 300 });
    const say = (what, error) => console.log(what, error?.code ?? error);
    ${program}`;
  const { stdout } = await runToEnd(inline(source), { exitCode });
  return stdout.trim();
}

describe.concurrent('a process whose store is away', () => {
  it('stays alive while it awaits a lock, runs its catch block, and ends by itself with its exit code', async () => {
    const program = `
      async function main() {
        try {
          await locks.acquireMutex('x', { timeoutMs: 500 });
        } catch (error) {
          say('caught', error);
          process.exitCode = 7;
        }
      }
      main();`;
    expect(await printed(program, 7)).toBe('caught ACQUIRE_TIMEOUT');
  });

  it('stays alive while it awaits any other call', async () => {
    const program = `
      const calls = {
        tryAcquire: () => locks.tryAcquireMutex('x'),
        use: () => locks.useMutex('x', () => 1, { timeoutMs: 500 }),
        acquireAll: () => locks.acquireAll([{ mutex: locks.createMutex('x') }], { timeoutMs: 500 }),
        tryAcquireAll: () => locks.tryAcquireAll([{ mutex: locks.createMutex('x') }]),
        inspect: () => locks.inspect('x'),
        lockInspect: () => locks.createMutex('x').inspect(),
        list: () => locks.list().next(),
        revoke: () => locks.revoke('x'),
        resize: () => locks.createSemaphore('s', 2).resize(3),
        available: () => locks.createSemaphore('s', 2).available(),
        ensureIndexes: () => locks.ensureIndexes(),
      };
      for (const [name, call] of Object.entries(calls)) {
        try {
          say(name, await call());
        } catch (error) {
          say(name, error);
        }
      }
      await locks.close();
      say('closed', '');`;
    const lines = await printed(program, 0);
    expect(lines.split('\n').map((line) => line.trim())).toEqual([
      'tryAcquire STORE_UNAVAILABLE',
      'use ACQUIRE_TIMEOUT',
      'acquireAll ACQUIRE_TIMEOUT',
      'tryAcquireAll STORE_UNAVAILABLE',
      'inspect STORE_UNAVAILABLE',
      'lockInspect STORE_UNAVAILABLE',
      'list STORE_UNAVAILABLE',
      'revoke STORE_UNAVAILABLE',
      'resize STORE_UNAVAILABLE',
      'available STORE_UNAVAILABLE',
      'ensureIndexes STORE_UNAVAILABLE',
      'closed',
    ]);
  });
});
