import { context, metrics, trace } from '@opentelemetry/api';
import type { MeterProvider, TracerProvider } from '@opentelemetry/api';
import type { CommandStartedEvent, Db } from 'mongodb';
import { describe, expect, it, vi } from 'vitest';

import { LockProvider } from '../../../src/index.js';
import { observableOf } from '../../../src/observation.js';
import { instrument } from '../../../src/opentelemetry/index.js';
import type { Instrumentable } from '../../../src/opentelemetry/index.js';
import { MemoryReplicaSet } from '../../../src/testing/index.js';
import { whenTestEnds } from '../../support/current-test.js';
import { untilSettled } from '../testing/fleet.js';
import { Recorder } from './recorder.js';
import { useTelemetryWorld } from './telemetry-world.js';

const world = useTelemetryWorld(44);
const { until, provider } = world;

const use = async (locks: Pick<LockProvider, 'createMutex'>): Promise<void> => {
  await until((await until(locks.createMutex('a').acquire())).release());
};

describe('stop', () => {
  it('ends what is open, brings the counters to zero, and nothing is recorded afterwards', async () => {
    const [locks, other] = [provider(), provider()];
    const stop = instrument(locks, world.recorder.providers);
    const held = await until(locks.acquireMutex('a'));
    const elsewhere = await until(other.acquireMutex('b'));
    const waiting = locks.acquireMutex('b');
    await world.set.advance(100);
    stop();
    expect(await world.recorder.counts('leasehold.holds')).toEqual({ mutex: 0 });
    expect(await world.recorder.counts('leasehold.waits')).toEqual({ mutex: 0 });
    expect(world.recorder.spans().map(({ name }) => name)).toEqual([
      'leasehold.acquire',
      'leasehold.acquire',
      'leasehold.hold',
    ]);
    await until(elsewhere.release());
    await until(held.release());
    await until((await until(waiting)).release());
    stop();
    await use(locks);
    expect(world.recorder.spans()).toHaveLength(3);
    expect(await world.recorder.points('leasehold.hold.duration')).toEqual([]);
    expect((await world.recorder.points('leasehold.acquire.duration'))[0]?.count).toBe(1);
    expect(await world.recorder.counts('leasehold.holds')).toEqual({ mutex: 0 });
    expect(JSON.stringify(world.set.documents())).not.toContain('traceparent');
  });

  it('may come before the end of a hold that another instrumentation sees to its end', async () => {
    const locks = provider();
    const stop = instrument(locks, world.recorder.providers);
    const second = new Recorder();
    instrument(locks, second.providers);
    const held = await until(locks.acquireMutex('a'));
    stop();
    await until(held.release());
    expect(await world.recorder.points('leasehold.hold.duration')).toEqual([]);
    expect((await second.points('leasehold.hold.duration'))[0]?.count).toBe(1);
    expect(second.spans('leasehold.hold')).toHaveLength(1);
  });
});

it('a provider is recorded where it was instrumented, and no other provider is', async () => {
  const [first, second, neither] = [provider(), provider(), provider()];
  const other = new Recorder();
  instrument(first, world.recorder.providers);
  instrument(second, other.providers);
  await use(first);
  await use(second);
  await use(second);
  await use(neither);
  expect((await world.recorder.points('leasehold.acquire.duration'))[0]?.count).toBe(1);
  expect((await other.points('leasehold.acquire.duration'))[0]?.count).toBe(2);
  expect([world.recorder, other].map((each) => each.spans('leasehold.hold').length)).toEqual([1, 2]);
});

it('a request that another instrumentation saw begin is not recorded by a later one', async () => {
  const [locks, other] = [provider(), provider()];
  instrument(locks, world.recorder.providers);
  const elsewhere = await until(other.acquireMutex('a'));
  const waiting = locks.acquireMutex('a');
  await world.set.advance(100);
  const second = new Recorder();
  instrument(locks, second.providers);
  await until(elsewhere.release());
  await until((await until(waiting)).release());
  expect((await world.recorder.points('leasehold.acquire.duration'))[0]?.count).toBe(1);
  expect(await second.points('leasehold.acquire.duration')).toEqual([]);
  expect(await second.points('leasehold.handover.duration')).toEqual([]);
});

it('holds and requests from before the instrumentation are not counted down', async () => {
  const locks = provider();
  const held = await until(locks.acquireMutex('a'));
  const waiting = locks.acquireMutex('a');
  await world.set.advance(100);
  instrument(locks, world.recorder.providers);
  await until(held.release());
  await until((await until(waiting)).release());
  expect(await world.recorder.points('leasehold.holds')).toEqual([]);
  expect(await world.recorder.points('leasehold.waits')).toEqual([]);
  expect(world.recorder.spans()).toEqual([]);
});

it('an unobserved provider sends exactly what it sends without telemetry', async () => {
  const sent = async (setUp: (locks: LockProvider) => void): Promise<string> => {
    const own = new MemoryReplicaSet({ time: 'virtual', seed: 7 });
    const ownUntil = <T>(promise: Promise<T>): Promise<T> => untilSettled(own, promise);
    const commands: object[] = [];
    const made = [0, 1].map(() => {
      const db = own.db('app');
      (
        db as unknown as { client: { on(event: string, hear: (event: CommandStartedEvent) => void): void } }
      ).client.on('commandStarted', ({ command }) => commands.push(command));
      return new LockProvider(db, { leaseMs: 10_000 });
    });
    const [first, second] = made as [LockProvider, LockProvider];
    setUp(first);
    const held = await ownUntil(first.acquireMutex('a'));
    const waiting = second.acquireMutex('a');
    await own.advance(1_000);
    await ownUntil(held.release());
    await ownUntil((await ownUntil(waiting)).release());
    await ownUntil(Promise.all(made.map((each) => each.close({ drainMs: 0 }))));
    await own.close();
    expect(commands.length).toBeGreaterThan(4);
    return JSON.stringify([commands, own.versions]);
  };
  const plain = await sent(() => undefined);
  const stopped = await sent((locks) => {
    instrument(locks, world.recorder.providers)();
  });
  const instrumented = await sent((locks) => {
    instrument(locks, world.recorder.providers);
  });
  expect(stopped).toBe(plain);
  expect(instrumented).not.toBe(plain);
  expect(instrumented).toContain('traceparent');
});

describe('a quorum', () => {
  it('has requests, holds and losses of its own, and the extensions and streams of its stores', async () => {
    const sets = [
      world.set,
      ...[1, 2].map((more) => new MemoryReplicaSet({ time: world.set, seed: 44 + more })),
    ];
    whenTestEnds(async () => {
      await world.closeProviders();
      for (const each of sets.slice(1).reverse()) await each.close();
    });
    const connect = (): readonly Db[] => sets.map((each) => each.db('app'));
    const [locks, other] = [world.quorum(connect()), world.quorum(connect())];
    const stop = instrument(locks, world.recorder.providers);
    const held = await until(locks.createMutex('a').acquire());
    const read = await until(locks.createReaderWriterLock('b').acquireRead());
    expect(await world.recorder.counts('leasehold.holds')).toEqual({ mutex: 1, 'reader-writer': 1 });
    await world.set.advance(8_000);
    await until(Promise.all([held.release(), read.release()]));
    const foreign = await until(other.createMutex('a').acquire());
    expect(await until(locks.createMutex('a').tryAcquire())).toBeNull();
    await until(foreign.release());
    const results = (await world.recorder.points('leasehold.acquire.duration')).map(
      ({ attributes, count }) => [attributes, count],
    );
    expect(results).toHaveLength(3);
    expect(results).toEqual(
      expect.arrayContaining([
        [{ 'leasehold.kind': 'mutex', 'leasehold.result': 'granted' }, 1],
        [{ 'leasehold.kind': 'mutex', 'leasehold.result': 'busy' }, 1],
        [{ 'leasehold.kind': 'reader-writer', 'leasehold.mode': 'read', 'leasehold.result': 'granted' }, 1],
      ]),
    );
    expect(
      (await world.recorder.points('leasehold.hold.duration')).map(({ attributes }) => attributes),
    ).toHaveLength(2);
    expect((await world.recorder.points('leasehold.extension.duration'))[0]?.count).toBeGreaterThanOrEqual(3);
    expect(world.recorder.spans('leasehold.hold')).toHaveLength(2);
    expect(await world.recorder.points('leasehold.streams')).toHaveLength(1);
    const lost = await until(locks.createMutex('c').acquire());
    await until(locks.close({ drainMs: 0 }));
    expect(lost.isHeld).toBe(false);
    expect(await world.recorder.counts('leasehold.holds')).toEqual({ mutex: 0, 'reader-writer': 0 });
    const ends = (await world.recorder.points('leasehold.hold.duration')).map(({ attributes }) => attributes);
    expect(ends).toContainEqual({ 'leasehold.kind': 'mutex', 'leasehold.ended_by': 'closing' });
    stop();
  });
});

describe.each(['LockProvider', 'QuorumLockProvider'])(
  'a hold of a %s that is lost before its caller has it',
  (type) => {
    it('leaves no open span and is not counted, but its loss is', async () => {
      const locks =
        type === 'LockProvider'
          ? provider()
          : world.quorum(['q1', 'q2', 'q3'].map((name) => world.set.db(name)));
      instrument(locks, world.recorder.providers);
      const observable = observableOf(locks);
      const { clock } = observable;
      const now = clock.nowMs.bind(clock);
      observable.observe({
        acquireEnded: () => {
          // The process stands still for longer than the lease.
          const standstill = vi.spyOn(clock, 'nowMs').mockImplementation(() => now() + 20_000);
          whenTestEnds(() => {
            standstill.mockRestore();
          });
        },
      });
      const held = await until(locks.createMutex('a').acquire());
      expect(held.isHeld).toBe(false);
      vi.restoreAllMocks();
      expect((await world.recorder.points('leasehold.losses')).map(({ value }) => value)).toEqual([1]);
      expect(await world.recorder.points('leasehold.holds')).toEqual([]);
      const [hold, ...others] = world.recorder.spans('leasehold.hold');
      expect(others).toEqual([]);
      expect(hold?.attributes).toMatchObject({
        'leasehold.ended_by': 'loss',
        'leasehold.loss.why': 'expired',
      });
    });
  },
);

describe('telemetry that throws', () => {
  const broken = (): never => {
    throw new Error('telemetry is broken');
  };

  it.each([
    ['a tracer', { tracerProvider: { getTracer: () => ({ startSpan: broken, startActiveSpan: broken }) } }],
    ['groupOf', { groupOf: broken }],
  ] as const)('by %s breaks no lock, and is a warning', async (_, options) => {
    const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
    whenTestEnds(() => {
      warned.mockRestore();
    });
    const locks = provider();
    instrument(locks, { ...world.recorder.providers, ...(options as object) });
    const job = locks.createScheduledJob('j', { everyMs: 1_000, run: () => undefined });
    const completed = vi.fn();
    job.on('completed', completed);
    job.on('missed', () => undefined);
    await use(locks);
    await until(job.start());
    await world.set.advance(2_500);
    await until(job.stop());
    expect(completed).toHaveBeenCalled();
    expect(warned.mock.calls.map(([message]) => message)).toEqual([
      'Telemetry failed, and nothing else did: Error: telemetry is broken',
    ]);
  });
});

it('a job runs once even if the context manager throws, and its error is a warning', async () => {
  const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
  const broken = vi.spyOn(context, 'with').mockImplementation(() => {
    throw new Error('no context');
  });
  whenTestEnds(() => {
    vi.restoreAllMocks();
  });
  const locks = provider();
  instrument(locks, world.recorder.providers);
  const run = vi.fn();
  const job = locks.createScheduledJob('j', { everyMs: 1_000, run });
  const [completed, failed] = [vi.fn(), vi.fn()];
  job.on('completed', completed);
  job.on('failed', failed);
  await until(job.start());
  await world.set.advance(3_500);
  await until(job.stop());
  expect(failed).not.toHaveBeenCalled();
  expect(run).toHaveBeenCalled();
  expect(completed).toHaveBeenCalledTimes(run.mock.calls.length);
  expect(broken).toHaveBeenCalled();
  expect(warned.mock.calls.map(([message]) => String(message)).join()).toContain('no context');
});

describe('a wrong argument', () => {
  const wrong = (locks: unknown, options?: unknown): (() => unknown) => {
    return () => instrument(locks as Instrumentable, options as Parameters<typeof instrument>[1]);
  };

  it('is named', () => {
    const locks = provider();
    expect(wrong({})).toThrow(/^locks must be a LockProvider or QuorumLockProvider/);
    expect(wrong(null)).toThrow(TypeError);
    expect(wrong(locks, { groupBy: () => 'a' })).toThrow(/unknown option "groupBy" of instrument/);
    expect(wrong(locks, { groupOf: 'a' })).toThrow(/^groupOf must be a function/);
    expect(wrong(locks, { tracerProvider: {} })).toThrow(
      /^tracerProvider must be an object with the method getTracer/,
    );
    expect(wrong(locks, { meterProvider: 1 })).toThrow(
      /^meterProvider must be an object with the method getMeter/,
    );
  });

  it('the types are those of the API', () => {
    const { tracerProvider, meterProvider } = world.recorder.providers;
    expect<TracerProvider>(tracerProvider).toBeDefined();
    expect<MeterProvider>(meterProvider).toBeDefined();
  });
});

it('works with the global providers of the API, which record nothing by default', async () => {
  const locks = provider();
  const stop = instrument(locks);
  await use(locks);
  expect(JSON.stringify(world.set.documents())).not.toContain('traceparent');
  stop();
});

it('uses a global tracer provider that is registered later, but no meter provider', async () => {
  const locks = provider();
  const stop = instrument(locks);
  const { tracerProvider, meterProvider } = world.recorder.providers;
  whenTestEnds(() => {
    trace.disable();
    metrics.disable();
  });
  expect(trace.setGlobalTracerProvider(tracerProvider)).toBe(true);
  expect(metrics.setGlobalMeterProvider(meterProvider)).toBe(true);
  await use(locks);
  stop();
  expect(world.recorder.spans('leasehold.hold')).toHaveLength(1);
  expect(await world.recorder.metrics()).toEqual([]);
});
