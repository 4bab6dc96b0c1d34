import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { ROOT_CONTEXT, SpanKind, SpanStatusCode, context, trace } from '@opentelemetry/api';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import type { LeaderElection } from '../../../src/index.js';
import { instrument } from '../../../src/opentelemetry/index.js';
import { toSeconds } from './recorder.js';
import { useTelemetryWorld } from './telemetry-world.js';

const world = useTelemetryWorld(42);
const { until, provider } = world;

beforeAll(() => {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
});

afterAll(() => {
  context.disable();
});

describe('the spans of a lock', () => {
  it('one for the acquire and one for the hold, both below the span of the caller, one after the other', async () => {
    const locks = provider();
    instrument(locks, world.recorder.providers);
    const caller = world.recorder.providers.tracerProvider.getTracer('test').startSpan('caller');
    const held = await context.with(trace.setSpan(ROOT_CONTEXT, caller), () =>
      until(locks.acquireMutex('a')),
    );
    await until(held.release());
    const [acquire] = world.recorder.spans('leasehold.acquire');
    const [hold] = world.recorder.spans('leasehold.hold');
    if (acquire === undefined || hold === undefined) throw new Error('a span is missing');
    expect(world.recorder.spans()).toHaveLength(2);
    for (const span of [acquire, hold]) {
      expect(span.kind).toBe(SpanKind.INTERNAL);
      expect(span.parentSpanContext?.spanId).toBe(caller.spanContext().spanId);
      expect(span.attributes).toMatchObject({
        'leasehold.lock.name': 'a',
        'leasehold.fencing_token': held.fencingToken,
      });
      expect(span.instrumentationScope.name).toBe('leasehold');
    }
    expect(acquire.attributes).toMatchObject({ 'leasehold.result': 'granted' });
    expect(hold.attributes).toMatchObject({ 'leasehold.ended_by': 'release' });
    // The hold begins where the acquire ends: the SDK took the array of the start time as it is.
    expect(toSeconds(hold.startTime)).toBe(toSeconds(acquire.endTime));
    expect(toSeconds(acquire.startTime)).toBeLessThan(toSeconds(acquire.endTime));
    expect(toSeconds(hold.startTime)).toBeLessThan(toSeconds(hold.endTime));
  });

  it('a released hold ends before the next hold begins, however late its release is answered', async () => {
    const [first, second] = [provider(), provider()];
    instrument(first, world.recorder.providers);
    instrument(second, world.recorder.providers);
    const held = await until(first.acquireMutex('a'));
    const waiting = second.acquireMutex('a');
    await world.set.advance(3_000);
    world.set.delayReplies(1_500);
    const releasing = held.release();
    const next = await until(waiting);
    expect(world.recorder.spans('leasehold.hold')).toEqual([]);
    await until(releasing);
    world.set.delayReplies(0);
    await until(next.release());
    const [from, to] = world.recorder.spans('leasehold.hold');
    if (from === undefined || to === undefined) throw new Error('a span is missing');
    expect(toSeconds(from.endTime)).toBeGreaterThanOrEqual(toSeconds(from.startTime) + 3);
    expect(toSeconds(from.endTime)).toBeLessThanOrEqual(toSeconds(to.startTime));
    const [metric] = await world.recorder.points('leasehold.hold.duration');
    expect(metric?.value).toBeGreaterThan(4.5);
  });

  it('a released hold of a quorum ends when its release is sent', async () => {
    const locks = world.quorum(['q1', 'q2', 'q3'].map((name) => world.set.db(name)));
    instrument(locks, world.recorder.providers);
    const held = await until(locks.createMutex('a').acquire());
    await world.set.advance(3_000);
    world.set.delayReplies(1_500);
    expect(await until(held.release())).toBe(true);
    world.set.delayReplies(0);
    const [hold] = world.recorder.spans('leasehold.hold');
    if (hold === undefined) throw new Error('a span is missing');
    expect(toSeconds(hold.endTime) - toSeconds(hold.startTime)).toBeCloseTo(3, 1);
  });

  it('a failed acquire is one span with its result; only an error is one', async () => {
    const [locks, other] = [provider(), provider()];
    instrument(other, world.recorder.providers);
    const held = await until(locks.acquireMutex('a'));
    expect(await until(other.tryAcquireMutex('a'))).toBeNull();
    await expect(until(other.createSemaphore('a', 2).acquire())).rejects.toThrow();
    await until(held.release());
    const [busy, mismatch] = world.recorder.spans();
    expect(world.recorder.spans()).toHaveLength(2);
    expect([busy?.name, mismatch?.name]).toEqual(['leasehold.acquire', 'leasehold.acquire']);
    expect(busy?.attributes).toMatchObject({ 'leasehold.result': 'busy' });
    expect(busy?.status.code).toBe(SpanStatusCode.UNSET);
    expect(mismatch?.attributes).toMatchObject({
      'leasehold.result': 'error',
      'error.type': 'LockKindMismatchError',
    });
    expect(mismatch?.status.code).toBe(SpanStatusCode.ERROR);
  });

  it('a lost hold is an error, with its cause', async () => {
    const db = world.set.db('app');
    const locks = provider({}, db);
    instrument(locks, world.recorder.providers);
    const lost = await until(locks.acquireMutex('a'));
    world.set.cut(db);
    await world.set.advance(15_000);
    world.set.heal(db);
    expect(lost.isHeld).toBe(false);
    const [hold] = world.recorder.spans('leasehold.hold');
    expect(hold?.attributes).toMatchObject({ 'leasehold.ended_by': 'loss', 'leasehold.loss.why': 'expired' });
    expect(hold?.status.code).toBe(SpanStatusCode.ERROR);
  });
});

describe('elections and jobs', () => {
  it('a term is a span of its own trace', async () => {
    const locks = provider();
    instrument(locks, world.recorder.providers);
    const caller = world.recorder.providers.tracerProvider.getTracer('test').startSpan('caller');
    const election = locks.createLeaderElection('e', { candidateId: 'me' });
    await context.with(trace.setSpan(ROOT_CONTEXT, caller), () => until(election.start()));
    await world.set.advance(1_000);
    await until(election.stop());
    const [term, ...others] = world.recorder.spans('leasehold.term');
    expect(others).toEqual([]);
    expect(term?.parentSpanContext).toBeUndefined();
    expect(term?.attributes).toMatchObject({
      'leasehold.lock.name': 'e',
      'leasehold.candidate.id': 'me',
      'leasehold.ended_by': 'release',
    });
    const [hold] = world.recorder.spans('leasehold.hold');
    expect(hold?.attributes['leasehold.kind']).toBe('election');
    expect(hold?.parentSpanContext).toBeUndefined();
  });

  it('a term ends before the next one begins, however late its release is answered', async () => {
    const [first, second] = [provider(), provider()].map((locks) => {
      instrument(locks, world.recorder.providers);
      return locks.createLeaderElection('e');
    }) as [LeaderElection, LeaderElection];
    await until(first.start());
    await until(second.start());
    await world.set.advance(60_000);
    world.set.delayReplies(1_500);
    const stopping = first.stop();
    await world.set.advance(10_000);
    expect(second.isLeader).toBe(true);
    await until(stopping);
    world.set.delayReplies(0);
    await until(second.stop());
    const [from, to] = world.recorder.spans('leasehold.term');
    if (from === undefined || to === undefined) throw new Error('a term is missing');
    expect(toSeconds(from.endTime) - toSeconds(from.startTime)).toBeGreaterThanOrEqual(60);
    expect(toSeconds(from.endTime)).toBeLessThanOrEqual(toSeconds(to.startTime));
  });

  it('a lost term says so', async () => {
    const db = world.set.db('app');
    const locks = provider({}, db);
    instrument(locks, world.recorder.providers);
    const election = locks.createLeaderElection('e');
    election.on('error', () => undefined);
    await until(election.start());
    await world.set.advance(1_000);
    world.set.cut(db);
    await world.set.advance(30_000);
    world.set.heal(db);
    expect(world.recorder.spans('leasehold.term')[0]?.attributes).toMatchObject({
      'leasehold.ended_by': 'loss',
    });
    await until(election.stop());
  });

  it('a run is a span, parent of what the run does, also after an await; a run that throws is an error', async () => {
    const locks = provider();
    instrument(locks, world.recorder.providers);
    const tracer = world.recorder.providers.tracerProvider.getTracer('test');
    let runs = 0;
    const job = locks.createScheduledJob('report', {
      everyMs: 1_000,
      run: async () => {
        runs += 1;
        tracer.startSpan('at once').end();
        await Promise.resolve();
        tracer.startSpan('later').end();
        if (runs === 2) throw new Error('broken');
      },
    });
    job.on('failed', () => undefined);
    await until(job.start());
    await world.set.advance(3_000);
    await until(job.stop());
    const [first, second] = world.recorder.spans('leasehold.job.run');
    if (first === undefined || second === undefined) throw new Error('a run is missing');
    expect(first.attributes).toMatchObject({
      'leasehold.job.name': 'report',
      'leasehold.lock.name': 'report',
    });
    expect(first.parentSpanContext).toBeUndefined();
    const below = world.recorder
      .spans()
      .filter((span) => span.parentSpanContext?.spanId === first.spanContext().spanId);
    expect(below.map(({ name }) => name)).toEqual(['at once', 'later']);
    expect(first.status.code).toBe(SpanStatusCode.UNSET);
    expect(second.status).toEqual({ code: SpanStatusCode.ERROR, message: 'broken' });
  });

  it('a run that hangs is an error, and its span ends', async () => {
    const locks = provider();
    instrument(locks, world.recorder.providers);
    let end = (): void => undefined;
    const job = locks.createScheduledJob('report', {
      everyMs: 1_000,
      maxRunMs: 2_000,
      run: () =>
        new Promise<void>((resolve) => {
          end = resolve;
        }),
    });
    for (const event of ['failed', 'overrun', 'missed'] as const) job.on(event, () => undefined);
    await until(job.start());
    await world.set.advance(20_000);
    const [run] = world.recorder.spans('leasehold.job.run');
    if (run === undefined) throw new Error('a run is missing');
    expect(run.status.code).toBe(SpanStatusCode.ERROR);
    expect(run.status.message).toContain('maxRunMs = 2000');
    // The times are those of the provider's clock, which is virtual here. A run has 5 s to end when its signal aborts.
    expect(toSeconds(run.endTime) - toSeconds(run.startTime)).toBeCloseTo(7, 3);
    expect(run.events.map(({ time }) => toSeconds(time))).toEqual([toSeconds(run.endTime)]);
    end();
    await until(job.stop({ drainMs: 0 }));
  });
});
