import { Long } from 'mongodb';
import type { Document } from 'mongodb';
import { expect, it } from 'vitest';
import { testProvider, useOwnServer } from '../../support/test-provider.js';

const WAITERS = 1_300;
const LARGE = 16;
const SMALL = 150;

const numbered = (count: number, prefix: string): string[] =>
  Array.from({ length: count }, (_, index) => `${prefix}:${String(index).padStart(3, '0')}`);

useOwnServer();

it('list() continues where the server cuts a page at 16 MB, and shows each lock once', async () => {
  const { db, locks } = await testProvider({ storeTimeoutMs: 60_000 });
  const inTenMinutes = new Date(Date.now() + 600_000);
  const waiter = {
    process: 'host:1:0123456789abcdef',
    leaseMs: 600_000,
    since: new Date(),
    expiresAt: inTenMinutes,
    label: 'x'.repeat(1_000),
  };
  const queue = Object.fromEntries(numbered(WAITERS, 'w').map((id) => [id, waiter]));
  const lock = (_id: string, waiters: Document): Document & { _id: string } => ({
    _id,
    kind: 'mutex',
    v: 1,
    fence: Long.fromNumber(1),
    holder: null,
    queue: waiters,
    wake: '',
    purgeAt: new Date(Date.now() + 86_400_000),
  });
  const stored = db.collection<{ _id: string }>('distributed.locks');
  const names = [...numbered(LARGE, 'large'), ...numbered(SMALL, 'small')];
  for (const name of names.slice(0, LARGE)) await stored.insertOne(lock(name, queue));
  await stored.insertMany(names.slice(LARGE).map((name) => lock(name, {})));
  const [{ bytes } = { bytes: 0 }] = await stored
    .aggregate<{ bytes: number }>([{ $group: { _id: null, bytes: { $sum: { $bsonSize: '$$ROOT' } } } }])
    .toArray();
  expect(bytes).toBeGreaterThan(18_000_000);

  const listed: string[] = [];
  for await (const snapshot of locks.list()) {
    listed.push(snapshot.name);
    expect(snapshot.waiters).toHaveLength(snapshot.name.startsWith('large') ? WAITERS : 0);
  }
  expect(listed).toEqual(names);

  const small: string[] = [];
  for await (const { name } of locks.list({ prefix: 'small' })) small.push(name);
  expect(small).toEqual(names.slice(LARGE));
});
