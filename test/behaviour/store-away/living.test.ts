import { execFile } from 'node:child_process';

import { describe, expect, it } from 'vitest';

interface Ended {
  readonly printed: string;
  readonly code: number;
}

/** Runs a program in a process of its own, which can never reach its store. */
const run = (program: string): Promise<Ended> =>
  new Promise((resolve) => {
    const index = new URL('../../../src/index.ts', import.meta.url).href;
    const source = `
      import { MongoClient } from 'mongodb';
      import { LockProvider } from ${JSON.stringify(index)};
      const client = new MongoClient('mongodb://127.0.0.1:1/', { serverSelectionTimeoutMS: 200 });
      const locks = new LockProvider(client.db('x'), { storeTimeoutMs: 300 });
      const say = (what, error) => console.log(what, error?.code ?? error);
      ${program}`;
    const child = execFile(
      process.execPath,
      ['--import', 'tsx', '--input-type=module', '-e', source],
      (_, printed) => {
        resolve({ printed: printed.trim(), code: child.exitCode ?? -1 });
      },
    );
  });

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
    expect(await run(program)).toEqual({ printed: 'caught ACQUIRE_TIMEOUT', code: 7 });
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
    const { printed, code } = await run(program);
    expect(printed.split('\n').map((line) => line.trim())).toEqual([
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
    expect(code).toBe(0);
  });
});
