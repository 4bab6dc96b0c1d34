import { MongoClient } from 'mongodb';
import type { Document } from 'mongodb';
import { describe, expect, inject, it } from 'vitest';

import { eventually } from '../../lab/patience.js';
import { checkLeaks, readCounters } from './leak-checker.js';
import type { Remains } from './leak-checker.js';
import { history } from './written-history.js';
import type { Lines } from './written-history.js';

const NOW_MS = Date.UTC(2030, 0, 1);

const ended = (resources: Readonly<Record<string, number>> = {}): Lines => [
  [9, { type: 'ended', resources }],
];

const member = (atMs: number): Document => ({
  process: 'p',
  leaseMs: 1_000,
  expiresAt: new Date(NOW_MS + atMs),
});
const stored = (holder: Document | null, queue: Document = {}): Document => ({
  ...{ _id: 'lock', kind: 'mutex', fence: 1, holder, queue },
});

const clean: Remains = {
  history: history([ended(), ended({ TTYWrap: 1 })]),
  baseline: { TTYWrap: 1 },
  documents: [stored(null), stored({ id: 'wa', token: 1, ...member(0) }, { wb: member(-1) })],
  nowMs: NOW_MS,
  before: [
    { openCursors: 2, connections: 0 },
    { openCursors: 0, connections: 1 },
  ],
  after: [
    { openCursors: 0, connections: 1 },
    { openCursors: 2, connections: 0 },
  ],
};

describe('the leak checker', () => {
  it('accepts what was there before, and what has expired', () => {
    expect(checkLeaks(clean)).toEqual([]);
  });

  const killed = [[5, { type: 'worker killed', worker: 0 }]] as const;

  it('accepts a killed worker that reports nothing', () => {
    expect(checkLeaks({ ...clean, history: history([[], ended()], killed) })).toEqual([]);
  });

  it.each<[string, Partial<Remains>, string, RegExp]>([
    ['a timer', { history: history([ended({ Timeout: 1 })]) }, 'R1', /worker 0 .*1 Timeout/],
    [
      'more open resources than the baseline',
      { history: history([ended({ TTYWrap: 2 })]) },
      'R1',
      /2 TTYWrap/,
    ],
    ['a worker that does not end', { history: history([ended(), []], killed) }, 'R2', /worker 1 never/],
    [
      'a lease',
      { documents: [stored({ id: 'wa', token: 1, ...member(1) })] },
      'R1',
      /lock: wa of p still holds/,
    ],
    ['a waiter', { documents: [stored(null, { wb: member(1) })] }, 'R1', /lock: wb of p still waits/],
    ['a cursor', { after: [{ openCursors: 3, connections: 1 }] }, 'R1', /3 openCursors/],
    ['a connection', { after: [{ openCursors: 2, connections: 2 }] }, 'R1', /2 connections/],
  ])('finds %s', (_, change, invariant, words) => {
    const found = checkLeaks({ ...clean, ...change });
    expect(found).toMatchObject([{ invariant, what: expect.stringMatching(words) as string }]);
  });
});

it('the counters of a member count open cursors, and the connections of one client', async () => {
  await using looking = new MongoClient(inject('mongoUri'));
  const appName = `leaking-${process.hrtime.bigint().toString(36)}`;
  expect(await readCounters(looking, appName)).toMatchObject({ connections: 0 });
  const db = looking.db(appName);
  try {
    await using leaking = new MongoClient(inject('mongoUri'), { appName });
    const numbers = leaking.db(appName).collection('numbers');
    await numbers.insertMany([{ n: 1 }, { n: 2 }, { n: 3 }]);
    const open = numbers.find({}, { batchSize: 2 });
    await open.next();
    const { openCursors, connections } = await readCounters(looking, appName);
    expect(openCursors).toBeGreaterThan(0);
    expect(connections).toBeGreaterThan(0);
    await open.close();
  } finally {
    await db.dropDatabase();
  }
  await eventually('the connections are gone', async () => {
    return (await readCounters(looking, appName)).connections === 0;
  });
});
