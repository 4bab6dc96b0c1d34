import {
  AlwaysOffSampler,
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import type { ReadableSpan } from '@opentelemetry/sdk-trace-base';
import { expect, it } from 'vitest';

import type { LockHandle } from '../../../src/index.js';
import { systemClock } from '../../../src/clock.js';
import { Observation } from '../../../src/observation.js';
import { instrument } from '../../../src/opentelemetry/index.js';
import { LockSpans } from '../../../src/opentelemetry/lock-spans.js';
import { useTelemetryWorld } from './telemetry-world.js';

const world = useTelemetryWorld(45);
const { until, provider } = world;

/** The `traceparent` of the only holder of this mutex. */
function storedTrace(name: string): unknown {
  const found = world.set.documents().find(({ _id }) => _id === name) as
    { readonly holder?: Readonly<Record<string, unknown>> | null } | undefined;
  return found?.holder?.['traceparent'];
}

const linked = ({ links }: ReadableSpan): readonly string[] => links.map((link) => link.context.spanId);

it('the hold links to the hold that handed over, whose trace context its lease stored', async () => {
  const [first, second] = [provider(), provider()];
  instrument(first, world.recorder.providers);
  instrument(second, world.recorder.providers);
  const held = await until(first.acquireMutex('a'));
  const stored = storedTrace('a');
  expect(stored).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/);
  expect(Buffer.byteLength(String(stored))).toBeLessThanOrEqual(55);
  const waiting = second.acquireMutex('a');
  await world.set.advance(1_000);
  await until(held.release());
  const next = await until(waiting);
  expect(storedTrace('a')).not.toBe(stored);
  expect(storedTrace('a')).toMatch(/^00-/);
  await until(next.release());
  const [from, to] = world.recorder.spans('leasehold.hold');
  if (from === undefined || to === undefined) throw new Error('a span is missing');
  const { traceId, spanId } = from.spanContext();
  expect(stored).toBe(`00-${traceId}-${spanId}-01`);
  expect(linked(from)).toEqual([]);
  expect(linked(to)).toEqual([spanId]);
  expect(to.attributes).toMatchObject({ 'leasehold.queue.place': 0 });
});

it('a writer links to every reader that stood before it, and keeps its own trace context through an upgrade', async () => {
  const [readers, writer] = [provider(), provider()];
  instrument(readers, world.recorder.providers);
  instrument(writer, world.recorder.providers);
  const reads = await until(Promise.all([1, 2].map(() => readers.createReaderWriterLock('a').acquireRead())));
  const waiting = writer.createReaderWriterLock('a').acquireWrite();
  await world.set.advance(500);
  await until(Promise.all(reads.map((read) => read.release())));
  await until((await until(waiting)).release());
  const holds = world.recorder.spans('leasehold.hold');
  const last = holds.at(-1);
  if (last === undefined) throw new Error('a span is missing');
  expect([...linked(last)].sort()).toEqual(
    holds
      .slice(0, -1)
      .map((hold) => hold.spanContext().spanId)
      .sort(),
  );
  const upgradeable = await until(writer.createReaderWriterLock('b').acquireUpgradeableRead());
  await until(upgradeable.upgrade());
  const document = world.set.documents().find(({ _id }) => _id === 'b') as {
    writer?: { traceparent?: string };
  };
  expect(document.writer?.traceparent).toMatch(/^00-/);
  await until(upgradeable.release());
});

it('a permit links to the ten holds that an answer shows, and to the hold that gave back its permit', async () => {
  const [holders, waiter] = [provider(), provider()];
  for (const each of [holders, waiter]) instrument(each, world.recorder.providers);
  const permits = await until(
    Promise.all(Array.from({ length: 12 }, () => holders.createSemaphore('s', 12).acquire())),
  );
  const waiting = waiter.createSemaphore('s', 12).acquire();
  await world.set.advance(500);
  await until(Promise.all(permits.splice(0, 1).map((permit) => permit.release())));
  await until((await until(waiting)).release());
  const [handedOver, next] = world.recorder.spans('leasehold.hold');
  const links = next === undefined ? [] : linked(next);
  expect(links).toContain(handedOver?.spanContext().spanId);
  expect([10, 11]).toContain(new Set(links).size);
  await until(Promise.all(permits.map((permit) => permit.release())));
});

it('a hold has at most 128 links', () => {
  const exporter = new InMemorySpanExporter();
  const tracers = new BasicTracerProvider({
    spanProcessors: [new SimpleSpanProcessor(exporter)],
    spanLimits: { linkCountLimit: 1_000 },
  });
  const observer = new LockSpans(tracers.getTracer('test'), systemClock);
  const digits = (number: number): string => number.toString(16).padStart(16, '0');
  const handedBy = Array.from({ length: 200 }, (_, n) => `00-${'a'.repeat(32)}-${digits(n + 1)}-01`);
  const acquire = new Observation().acquireStarted({ lockName: 's', kind: 'semaphore', mode: undefined });
  observer.acquireStarted(acquire);
  observer.acquireEnded(Object.assign(acquire, { handedBy, result: 'granted' as const }));
  observer.holdMissed(acquire, 'released');
  const hold = exporter.getFinishedSpans().find(({ name }) => name === 'leasehold.hold');
  expect(hold && linked(hold)).toEqual(Array.from({ length: 128 }, (_, n) => digits(n + 1)));
});

it('a waiter behind the head links to the hold whose release brought its grant', async () => {
  const [first, second, third] = [provider(), provider(), provider()];
  for (const each of [first, second, third]) instrument(each, world.recorder.providers);
  const held = await until(first.acquireMutex('a'));
  const next = second.acquireMutex('a');
  await world.set.advance(100);
  const last = third.acquireMutex('a');
  await world.set.advance(100);
  await until(held.release());
  await until((await until(next)).release());
  await until((await until(last)).release());
  const [one, two, three] = world.recorder.spans('leasehold.hold');
  expect(two && linked(two)).toEqual([one?.spanContext().spanId]);
  expect(three && linked(three)).toEqual([two?.spanContext().spanId]);
  expect(three?.attributes).toMatchObject({ 'leasehold.queue.place': 1 });
});

it('waiters of the process that releases are linked, too', async () => {
  const locks = provider();
  instrument(locks, world.recorder.providers);
  const held = await until(locks.acquireMutex('a'));
  const waiting: Promise<LockHandle>[] = [];
  for (let waiter = 0; waiter < 3; waiter += 1) {
    waiting.push(locks.acquireMutex('a'));
    await world.set.advance(100);
  }
  await until(held.release());
  for (const each of waiting) await until((await until(each)).release());
  const holds = world.recorder.spans('leasehold.hold');
  const ids = holds.map((hold) => hold.spanContext().spanId);
  expect(holds.map(linked)).toEqual([[], ...ids.slice(0, -1).map((id) => [id])]);
});

it('a release that shares its update with a new request is linked, too', async () => {
  const locks = provider();
  instrument(locks, world.recorder.providers);
  let held = await until(locks.acquireMutex('a'));
  const waiting: Promise<LockHandle>[] = [];
  for (let waiter = 0; waiter < 3; waiter += 1) {
    waiting.push(locks.acquireMutex('a'));
    await world.set.advance(100);
  }
  for (const next of waiting) {
    const released = held.release();
    waiting.push(...(waiting.length < 6 ? [locks.acquireMutex('a')] : []));
    await until(released);
    held = await until(next);
  }
  await until(held.release());
  const holds = world.recorder.spans('leasehold.hold');
  const ids = holds.map((hold) => hold.spanContext().spanId);
  expect(holds).toHaveLength(7);
  expect(holds.map(linked)).toEqual([[], ...ids.slice(0, -1).map((id) => [id])]);
});

it('a term that is handed over links to the term before it, though its candidate was last in the queue', async () => {
  const pods = [provider(), provider(), provider()];
  for (const each of pods) instrument(each, world.recorder.providers);
  const candidates = pods.map((each, index) =>
    each.createLeaderElection('e', { candidateId: `c${String(index)}` }),
  );
  const [leader] = candidates;
  if (leader === undefined) throw new Error('there is no candidate');
  for (const candidate of candidates) {
    await until(candidate.start());
    await world.set.advance(500);
  }
  expect(await until(leader.handOverTo('c2'))).toBe(true);
  await world.set.advance(1_000);
  for (const candidate of [...candidates].reverse()) await until(candidate.stop());
  const [one, two] = world.recorder.spans('leasehold.hold');
  expect(two && linked(two)).toEqual([one?.spanContext().spanId]);
});

it('a stored text of another form is put into no event', async () => {
  const [holder, waiter] = [provider(), provider()];
  for (const each of [holder, waiter]) instrument(each, world.recorder.providers);
  const held = await until(holder.acquireMutex('a'));
  const forged = `${waiter.processId}:w1:9`;
  const collection = world.set.db('app').collection('distributed.locks');
  await until(collection.updateOne({ _id: 'a' as never }, { $set: { 'holder.traceparent': `x ${forged}` } }));
  const before = world.set.versions.length;
  await until(held.release());
  const wakes = world.set.versions.slice(before).map(({ document }) => document?.['wake']);
  expect(wakes).toHaveLength(1);
  expect(wakes[0]).not.toContain(forged);
});

it('nothing is stored without instrumentation, and a text of another form in its place is no link', async () => {
  const [plain, instrumented] = [provider(), provider()];
  const held = await until(plain.acquireMutex('a'));
  expect(storedTrace('a')).toBeUndefined();
  instrument(instrumented, world.recorder.providers);
  const waiting = instrumented.acquireMutex('a');
  await world.set.advance(500);
  await until(held.release());
  const next = await until(waiting);
  await until(next.release());
  expect(world.recorder.spans('leasehold.hold').map(linked)).toEqual([[]]);
});

it('a span that is not sampled stores no trace context', async () => {
  const locks = provider();
  const tracerProvider = new BasicTracerProvider({ sampler: new AlwaysOffSampler() });
  instrument(locks, { ...world.recorder.providers, tracerProvider });
  const held = await until(locks.acquireMutex('a'));
  expect(held.isHeld).toBe(true);
  expect(storedTrace('a')).toBeUndefined();
  await until(held.release());
});

it('each hold of a kept seat links to the hold before it, of the same process', async () => {
  const locks = provider();
  const kept = locks.createMutex('a', { keepMs: 60_000 });
  // The process keeps the seat once its change stream is open and an answer has shown that nobody waits.
  for (let round = 0; round < 3; round += 1) {
    await until((await until(kept.acquire())).release());
    await world.set.advance(500);
  }
  const before = world.set.versions.length;
  const use = async (): Promise<void> => {
    await until((await until(kept.acquire())).release());
  };
  const stop = instrument(locks, world.recorder.providers);
  for (let round = 0; round < 3; round += 1) await use();
  stop();
  await use();
  instrument(locks, world.recorder.providers);
  for (let round = 0; round < 2; round += 1) await use();
  expect(world.set.versions).toHaveLength(before);
  const holds = world.recorder.spans('leasehold.hold');
  const [one, two, , four] = holds.map((hold) => hold.spanContext().spanId);
  // Nobody observed the hold before the fourth span.
  expect(holds.map(linked)).toEqual([[], [one], [two], [], [four]]);
});

it('readers that share a kept read link to nothing', async () => {
  const locks = provider();
  const kept = locks.createReaderWriterLock('a', { keepMs: 60_000 });
  for (let round = 0; round < 3; round += 1) {
    await until((await until(kept.acquireRead())).release());
    await world.set.advance(500);
  }
  instrument(locks, world.recorder.providers);
  for (let round = 0; round < 3; round += 1) await until((await until(kept.acquireRead())).release());
  expect(world.recorder.spans('leasehold.hold').map(linked)).toEqual([[], [], []]);
});
