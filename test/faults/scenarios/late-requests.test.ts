import { MongoClient } from 'mongodb';
import { afterAll, beforeAll, expect, it } from 'vitest';

import { LockProvider } from '../../../src/index.js';
import type { AcquireOptions, LockProviderOptions } from '../../../src/index.js';
import { whenTestEnds } from '../../support/current-test.js';
import { startReplicaSet } from '../../../lab/mongo-server/start.js';
import type { MongoServer } from '../../../lab/mongo-server/start.js';
import { eventually, later, rejection } from '../../../lab/patience.js';
import { startFaultProxy } from '../../../lab/cluster/fault-proxy.js';
import type { FaultProxy, Holding } from '../../../lab/cluster/fault-proxy.js';
import type { Request } from '../../../lab/cluster/wire-traffic.js';

/** Far longer than the test waits for the lock to be free again. */
const LEASE_MS = 600_000;

/** A request has no effect after twice this time. */
const STORE_TIMEOUT_MS = 10_000;

let server: MongoServer;
let proxy: FaultProxy;

beforeAll(async () => {
  server = await startReplicaSet({ say: () => undefined });
  proxy = await startFaultProxy(server.members[0]?.port ?? 0);
});

afterAll(async () => {
  await proxy.close();
  await server.stop();
});

interface World {
  readonly locks: LockProvider;
  /** Another process, on a connection of its own. */
  readonly observer: LockProvider;
  /** How many answers to commands of this kind, for the lock, the first process has got. */
  answersTo(kind: 'leave' | 'cancel'): number;
}

async function world(options: LockProviderOptions = {}): Promise<World> {
  const uri = `mongodb://127.0.0.1:${proxy.port}/?directConnection=true`;
  const client = new MongoClient(uri, { monitorCommands: true });
  const observing = new MongoClient(server.uri);
  const given = { leaseMs: LEASE_MS, createIndexes: false, ...options };
  const locks = new LockProvider(client.db('late'), { storeTimeoutMs: STORE_TIMEOUT_MS, ...given });
  const observer = new LockProvider(observing.db('late'), given);
  whenTestEnds(async () => {
    proxy.heal();
    await locks.close({ drainMs: 0 });
    await observer.close({ drainMs: 0 });
    await client.close();
    await observing.close();
  });
  const sent = new Map<number, string>();
  const answered: string[] = [];
  client.on('commandStarted', ({ requestId, command }) => sent.set(requestId, JSON.stringify(command)));
  client.on('commandSucceeded', ({ requestId }) => answered.push(sent.get(requestId) ?? ''));
  // The first request makes the provider do its handshake with the server.
  await (await locks.acquireMutex('other')).release();
  return {
    locks,
    observer,
    answersTo: (kind) =>
      answered.filter((command) => command.includes('"victim"') && isOf(kind, command)).length,
  };
}

/** A leave writes a word into `wake`; a cancel only removes a waiter. */
const isOf = (kind: 'leave' | 'cancel', command: string): boolean =>
  kind === 'leave' ? command.includes(' -w') : !command.includes(' -w') && !command.includes('notAfter');

const isRequest = ({ command, body }: Request): boolean =>
  command === 'findAndModify' && (body['query'] as { _id?: unknown })._id === 'victim';

/** Holds the first request for the lock back, so that its cleanup comes first. */
async function requestKeptBack(
  { locks }: World,
  options: AcquireOptions,
): Promise<{ readonly holding: Holding; readonly ended: Promise<unknown> }> {
  const holding = proxy.holdRequests(1, isRequest);
  const ended = later(rejection(locks.acquireMutex('victim', options)));
  await eventually('the request is on its way', () => holding.held === 1);
  return { holding, ended };
}

const seatsTaken = async ({ observer }: World): Promise<number> =>
  (await observer.inspect('victim'))?.holders.length ?? 0;

it.each(['abort', 'timeout'] as const)(
  'a request that arrives after its cleanup (by %s) gives its seat back within its not-after',
  async (how) => {
    const here = await world();
    const abort = new AbortController();
    const wait = how === 'abort' ? { signal: abort.signal } : { timeoutMs: 200 };
    const { holding, ended } = await requestKeptBack(here, wait);
    abort.abort();
    await ended;
    await eventually('the cleanup is answered', () => here.answersTo('leave') + here.answersTo('cancel') > 0);

    expect(await holding.deliver()).toBe(1);
    // The request arrived before its not-after. Otherwise the test would show nothing.
    expect(await seatsTaken(here)).toBe(1);
    await eventually('the seat is free again', async () => (await seatsTaken(here)) === 0);

    const lock = await here.observer.acquireMutex('victim', { timeoutMs: 60_000 });
    expect(await lock.release()).toBe(true);
  },
);

it('a copy of a request that arrives after its repeat was granted and released takes no seat for good (E2)', async () => {
  const { locks, observer } = await world({ leaseMs: 60_000, storeTimeoutMs: 10_000 });
  const holding = proxy.holdRequests(1, ({ command }) => command === 'findAndModify');
  const hold = await locks.acquireMutex('a');
  expect(holding.held).toBe(1);
  expect(await hold.release()).toBe(true);
  expect(await holding.deliver()).toBe(1);
  const { id } = hold;
  const taken = (await observer.inspect('a'))?.holders.map((holder) => holder.id);
  // The request arrived before its not-after. Otherwise the test would show nothing.
  expect(taken).toEqual([id]);
  await eventually('the seat is free again', async () => (await observer.inspect('a'))?.holders.length === 0);
});

it('close() leaves a hold to its lease, also while a copy of its request may still arrive', async () => {
  const here = await world({ leaseMs: 60_000, storeTimeoutMs: 10_000 });
  const holding = proxy.holdRequests(1, isRequest);
  const hold = await here.locks.acquireMutex('victim');
  expect(holding.held).toBe(1);
  await here.locks.close({ drainMs: 0 });
  expect(hold.isHeld).toBe(false);
  // The work of the holder may go on.
  const stays = async (): Promise<void> => {
    expect((await here.observer.inspect('victim'))?.holders.map(({ id }) => id)).toEqual([hold.id]);
    expect(await here.observer.tryAcquireMutex('victim')).toBeNull();
  };
  await stays();
  expect(await holding.deliver()).toBe(1);
  await stays();
  expect(here.answersTo('leave')).toBe(0);
});
