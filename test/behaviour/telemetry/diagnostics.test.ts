import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { expect, it, vi } from 'vitest';

import { whenTestEnds } from '../../support/current-test.js';
import { useTelemetryWorld } from './telemetry-world.js';

const EVENTS = ['start', 'end', 'asyncStart', 'asyncEnd', 'error'] as const;

const world = useTelemetryWorld(43);
const { until, provider } = world;

interface Heard {
  readonly name: string;
  readonly message: Readonly<Record<string, unknown>>;
}

/** What is published on these channels from now on, until the test ends. */
function listen(): readonly Heard[] {
  const heard: Heard[] = [];
  const hear = (name: string) => (message: unknown) => {
    // The fields of a message change until its end.
    heard.push({ name, message: { ...(message as object) } });
  };
  const listenTo = (channelName: string, name: string): void => {
    const handler = hear(name);
    subscribe(channelName, handler);
    whenTestEnds(() => unsubscribe(channelName, handler));
  };
  for (const traced of ['acquire', 'hold']) {
    for (const event of EVENTS) listenTo(`tracing:leasehold:${traced}:${event}`, `${traced} ${event}`);
  }
  for (const plain of ['lost', 'wakeups']) listenTo(`leasehold:${plain}`, plain);
  return heard;
}

const names = (heard: readonly Heard[]): readonly string[] => heard.map(({ name }) => name);

it('an acquire starts at the call and ends at the grant; a hold starts at the grant and ends at its release', async () => {
  const locks = provider();
  const heard = listen();
  const acquiring = locks.acquireMutex('a');
  expect(names(heard)).toEqual(['acquire start', 'acquire end']);
  const held = await until(acquiring);
  await world.set.advance(1_000);
  await until(held.release());
  expect(names(heard).slice(2)).toEqual([
    'acquire asyncStart',
    'acquire asyncEnd',
    'hold start',
    'hold end',
    'hold asyncStart',
    'hold asyncEnd',
  ]);
  const { fencingToken } = held;
  expect(heard[3]?.message).toMatchObject({ lockName: 'a', kind: 'mutex', result: 'granted', fencingToken });
  expect(heard.at(-1)?.message).toMatchObject({
    lockName: 'a',
    kind: 'mutex',
    endedBy: 'release',
    fencingToken,
  });
});

it('an acquire without a grant is an error, with its result and its error', async () => {
  const [locks, other] = [provider(), provider()];
  const held = await until(locks.acquireMutex('a'));
  const heard = listen();
  expect(await until(other.tryAcquireMutex('a'))).toBeNull();
  expect(names(heard)).toEqual(['acquire start', 'acquire end', 'acquire error']);
  expect(heard[2]?.message).toMatchObject({
    lockName: 'a',
    result: 'busy',
    error: expect.objectContaining({ name: 'AcquireTimeoutError' }) as unknown,
  });
  expect(held.isHeld).toBe(true);
});

it('a loss is told, also of a hold that began before anybody listened', async () => {
  const db = world.set.db('app');
  const locks = provider({}, db);
  const held = await until(locks.acquireMutex('a'));
  const heard = listen();
  world.set.cut(db);
  await world.set.advance(15_000);
  world.set.heal(db);
  expect(names(heard)).toEqual(['lost']);
  const { fencingToken } = held;
  expect(heard[0]?.message).toMatchObject({ lockName: 'a', kind: 'mutex', fencingToken, why: 'expired' });
});

it('a wake-up says how the waiter heard of its grant', async () => {
  const [locks, other] = [provider(), provider()];
  const heard = listen();
  const held = await until(locks.acquireMutex('a'));
  const waiting = other.acquireMutex('a');
  await world.set.advance(1_000);
  await until(held.release());
  const next = await until(waiting);
  const wakeups = heard.filter(({ name }) => name === 'wakeups');
  const { fencingToken } = next;
  expect(wakeups.map(({ message }) => message)).toEqual([
    expect.objectContaining({ lockName: 'a', kind: 'mutex', heardBy: 'event', fencingToken }),
  ]);
  expect(wakeups[0]?.message['handoverMs']).toBeGreaterThanOrEqual(0);
});

it('subscribers store nothing in documents', async () => {
  const locks = provider();
  listen();
  const held = await until(locks.acquireMutex('a'));
  expect(JSON.stringify(world.set.documents())).not.toContain('traceparent');
  expect(held.isHeld).toBe(true);
});

it('a subscriber that changes or freezes a message changes nothing in the library', async () => {
  const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
  const locks = provider();
  const frozen = (message: unknown): void => {
    const { kind } = message as { kind: string };
    if (kind === 'semaphore') Object.freeze(message);
    else Object.assign(message as object, { result: 'busy', traceparent: 'wrong' });
  };
  for (const name of ['acquire', 'hold'] as const) {
    const channelName = `tracing:leasehold:${name}:start`;
    subscribe(channelName, frozen);
    whenTestEnds(() => unsubscribe(channelName, frozen));
  }
  whenTestEnds(() => {
    warned.mockRestore();
  });
  const heard = listen();
  const held = await until(locks.acquireMutex('a'));
  expect(JSON.stringify(world.set.documents())).not.toContain('traceparent');
  await until(held.release());
  expect(heard.find(({ name }) => name === 'acquire asyncEnd')?.message).toMatchObject({ result: 'granted' });
  for (let round = 0; round < 2; round += 1) {
    const permit = await until(locks.createSemaphore('s', 2).acquire());
    expect(await until(permit.release())).toBe(true);
  }
  const texts = warned.mock.calls.map(([message]) => String(message));
  expect(texts).toHaveLength(1);
  expect(texts[0]).toMatch(/^Telemetry failed, and nothing else did: TypeError/);
});
