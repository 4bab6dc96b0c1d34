import { MongoClient } from 'mongodb';
import type { Db } from 'mongodb';
import { describe, expect, it } from 'vitest';

import { QuorumLockProvider } from '../../../src/quorum/index.js';
import type { QuorumLockProviderOptions } from '../../../src/quorum/index.js';
import { thrown } from '../../../lab/patience.js';

// These clients never connect, because nothing is sent before the first request.
const clients = [1, 2, 3, 4, 5].map((port) => new MongoClient(`mongodb://127.0.0.1:${port}`));
const dbs = (count: number): Db[] => clients.slice(0, count).map((client) => client.db('app'));

const make = (given: unknown, options?: QuorumLockProviderOptions): QuorumLockProvider =>
  new QuorumLockProvider(given as Db[], options);

const messageOf = (run: () => unknown): string => {
  const error = thrown(run);
  expect(error instanceof TypeError || error instanceof RangeError).toBe(true);
  return (error as Error).message;
};

describe('a quorum', () => {
  it('needs an odd number of databases, at least three, and none of them twice', () => {
    expect(messageOf(() => make('dbs'))).toContain('dbs must be an array');
    expect(messageOf(() => make(dbs(1)))).toContain('dbs.length must be odd, and at least 3, got 1');
    expect(messageOf(() => make(dbs(4)))).toContain('got 4');
    expect(messageOf(() => make([...dbs(2), undefined]))).toContain('dbs[2] must be a Db');
    const [first, second] = dbs(2);
    expect(messageOf(() => make([first, second, clients[0]?.db('app')]))).toContain('dbs[0] and dbs[2]');
    expect(make(dbs(5)).processId).toMatch(/:\d+:[0-9a-f]{16}$/);
  });

  it('refuses a minValidityMs that no lease can reach, also for one lock or one request', async () => {
    const options = { leaseMs: 1_000, clockAllowanceMs: 100 };
    expect(messageOf(() => make(dbs(3), { ...options, minValidityMs: 900 }))).toContain(
      'minValidityMs must be less than leaseMs minus clockAllowanceMs, which is 900, got 900',
    );
    const locks = make(dbs(3), { ...options, minValidityMs: 899 });
    expect(messageOf(() => locks.createMutex('m', { leaseMs: 900 }))).toContain('which is 800');
    await expect(locks.createMutex('m').acquire({ leaseMs: 900 })).rejects.toBeInstanceOf(RangeError);
  });

  it('refuses to create a semaphore, and says why', () => {
    const error = thrown(() => make(dbs(3)).createSemaphore('s', 2));
    expect(error).toBeInstanceOf(TypeError);
    expect((error as TypeError).message).toContain('a majority of counters does not bound their sum');
  });

  it('refuses keepMs, and checks names and options like a provider', () => {
    const locks = make(dbs(3));
    expect(messageOf(() => locks.createMutex('m', { keepMs: 5 }))).toContain('keepMs must be 0');
    expect(messageOf(() => locks.createReaderWriterLock('m', { keepMs: 5 }))).toContain('keepMs must be 0');
    expect(messageOf(() => locks.createMutex(''))).toContain('name');
    expect(messageOf(() => make(dbs(3), { leaseMs: 1 }))).toContain('leaseMs');
  });
});
