import { setMaxListeners } from 'node:events';
import type { Document } from 'mongodb';
import { describe, expect, it } from 'vitest';
import type { LockHandle } from '../../../src/index.js';
import { killCursors } from '../../../lab/mongo-server/kill-cursors.js';
import { eventually, later } from '../../../lab/patience.js';
import { twoProviders } from '../../support/test-provider.js';
import type { TestProvider } from '../../support/test-provider.js';
import { untilWaiting } from '../../support/waiters.js';

const WAITERS = 1_000;

/** A controller that aborts the waits that are still open at the end of a test. */
function leaving(): AbortController {
  const controller = new AbortController();
  setMaxListeners(0, controller.signal);
  return controller;
}

interface Answered {
  /** The attempts that this update put into the queue. */
  readonly enqueued: number;
  /** How many of its requests reached the server after their not-after. */
  readonly late: number;
  /** How many places the reply showed. */
  readonly places: number;
  /** Whether it also extended places. */
  readonly isLook: boolean;
}

/** What the updates of a provider carried, and what their replies showed. */
function watchUpdates({ client }: TestProvider): readonly Answered[] {
  const sent = new Map<number, { readonly notAfters: readonly Date[]; readonly isLook: boolean }>();
  const answered: Answered[] = [];
  client.on('commandStarted', ({ commandName, requestId, command }) => {
    if (commandName !== 'findAndModify') return;
    sent.set(requestId, { notAfters: [...notAftersIn(command['update'])], isLook: isLook(command) });
  });
  client.on('commandSucceeded', ({ commandName, requestId, reply }) => {
    if (commandName !== 'findAndModify') return;
    const { value } = reply as { value: { now?: Date; queue?: { mine: readonly unknown[] } } | null };
    const { notAfters, ...update } = sent.get(requestId) ?? { notAfters: [], isLook: false };
    const late = notAfters.filter((notAfter) => notAfter < (value?.now ?? notAfter)).length;
    answered.push({ enqueued: notAfters.length, late, places: value?.queue?.mine.length ?? 0, ...update });
  });
  return answered;
}

/** The dates that an update compares with the time of the server, once for each request. */
function* notAftersIn(stage: unknown): Generator<Date> {
  if (Array.isArray(stage)) {
    const [left, right] = stage as unknown[];
    if (left === '$$NOW' && right instanceof Date) yield right;
    for (const each of stage) yield* notAftersIn(each);
  } else if (typeof stage === 'object' && stage !== null && !(stage instanceof Date)) {
    if (!('wake' in stage)) for (const each of Object.values(stage)) yield* notAftersIn(each);
  }
}

const sum = (all: readonly number[]): number => all.reduce((total, each) => total + each, 0);

/** Whether an update extends places. */
const isLook = (command: Document): boolean => JSON.stringify(command['update']).includes('" ~');

/** Breaks the change stream of this provider. */
async function killStream({ client, db, appName }: TestProvider): Promise<number> {
  const pipeline = [
    { $currentOp: { idleCursors: true, allUsers: true } },
    { $match: { appName, 'cursor.tailable': true, ns: `${db.databaseName}.distributed.locks` } },
  ];
  const open = await client.db('admin').aggregate(pipeline).toArray();
  const ids = open.map(({ cursor }) => (cursor as Document)['cursorId'] as unknown);
  await killCursors(db, 'distributed.locks', ids);
  return ids.length;
}

describe('a thousand waiters of one lock in one process', () => {
  it('are queued in time by few updates with short replies, and are granted one after the other', async () => {
    const [holder, crowd] = await twoProviders({ leaseMs: 10_000, createIndexes: false });
    const held = await holder.locks.acquireMutex('a');
    const updates = watchUpdates(crowd);
    const leave = leaving();
    const grants: LockHandle[] = [];
    const waits = Array.from({ length: WAITERS }, () =>
      crowd.locks.acquireMutex('a', { signal: leave.signal }).then((lock) => grants.push(lock)),
    );
    for (const wait of waits) void later(wait);
    await untilWaiting(holder.locks, 'a', WAITERS);
    // The other process may see the last places before this one has its answer.
    const enqueued = (): number => sum(updates.map((update) => update.enqueued));
    await eventually('all are answered', () => enqueued() >= WAITERS);
    expect(enqueued()).toBe(WAITERS);
    expect(sum(updates.map(({ late }) => late))).toBe(0);
    const requests = updates.filter(({ isLook }) => !isLook);
    expect(requests.map(({ places }) => places)).toEqual(requests.map(({ enqueued }) => enqueued));
    expect(updates.length).toBeLessThan(WAITERS / 10);
    expect(await held.release()).toBe(true);
    for (let turn = 1; turn <= 20; turn += 1) {
      await eventually(`grant ${String(turn)}`, () => grants.length === turn);
      expect(await grants.at(-1)?.release()).toBe(true);
    }
    leave.abort();
    await Promise.allSettled(waits);
  });

  it('are all granted by one release if they want to read', async () => {
    const [writer, crowd] = await twoProviders({ leaseMs: 20_000, createIndexes: false });
    const written = await writer.locks.createReaderWriterLock('a').acquireWrite();
    const lock = crowd.locks.createReaderWriterLock('a');
    const reads = Array.from({ length: WAITERS }, () => lock.acquireRead());
    await untilWaiting(writer.locks, 'a', WAITERS);
    const before = crowd.commands.length;
    expect(await written.release()).toBe(true);
    const handles = await Promise.all(reads);
    expect(new Set(handles.map(({ fencingToken }) => fencingToken)).size).toBe(WAITERS);
    const tokens = handles.map(({ fencingToken }) => fencingToken);
    expect(tokens).toEqual([...tokens].sort((a, b) => a - b));
    expect((await crowd.locks.inspect('a'))?.holders).toHaveLength(WAITERS);
    expect(crowd.commands.length - before).toBeLessThan(50);
  });
});

describe('hundreds of locks that one process waits for', () => {
  it('get at most eight looks at a time after the stream has broken', async () => {
    const names = Array.from({ length: 400 }, (_, index) => `n${String(index)}`);
    const patient = { leaseMs: 60_000, storeTimeoutMs: 50_000, createIndexes: false };
    const [holder, crowd] = await twoProviders(patient);
    const held = await Promise.all(names.map((name) => holder.locks.acquireMutex(name)));
    const leave = leaving();
    for (const name of names) void later(crowd.locks.acquireMutex(name, { signal: leave.signal }));
    const locks = holder.db.collection('distributed.locks');
    const isAwaited = { queue: { $ne: {} } };
    await eventually('all are queued', async () => (await locks.countDocuments(isAwaited)) === names.length);
    const inFlight = new Set<number>();
    const [looked, most] = [new Set<unknown>(), { inFlight: 0 }];
    crowd.client.on('commandStarted', ({ commandName, command, requestId }) => {
      if (commandName !== 'findAndModify' || !isLook(command)) return;
      looked.add((command['query'] as Document)['_id']);
      inFlight.add(requestId);
      most.inFlight = Math.max(most.inFlight, inFlight.size);
    });
    crowd.client.on('commandSucceeded', ({ requestId }) => inFlight.delete(requestId));
    await eventually('the stream is killed', async () => (await killStream(crowd)) > 0);
    await eventually('each name is looked at', () => looked.size === names.length);
    expect(most.inFlight).toBeLessThanOrEqual(8);
    expect(most.inFlight).toBeGreaterThan(1);
    leave.abort();
    // Kept until the end: a forgotten handle is collected, and its lock released.
    expect(held.every(({ isHeld }) => isHeld)).toBe(true);
  });
});
